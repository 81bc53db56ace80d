package io.waybill.worker.serve;

import io.waybill.host.Clock;
import io.waybill.wire.RecordView;

/**
 * The time by which the deadlines of requests are judged, at most a few requests old: reading the clock costs as much as the rest of
 * dispatching a request. When this process was stopped meanwhile, a request that was sent since then shows it, or else the first response:
 * at most one expired request is begun.
 *
 * <p><b>Threads.</b> Belongs to the holder of the poll permit.
 */
final class RequestClock {

    private static final int MAX_SERVED_PER_CLOCK_READ = 8;
    /** A request or response that was sent this long after the clock was read shows that the clock is to be read again. */
    private static final long SHIFT_NS = 1_000_000;

    private final Clock clock;
    private final ResponseWriter responses;
    private long nowNs;
    private long sentBeforeNs;
    private int servedUntilClock;

    RequestClock(Clock clock, ResponseWriter responses) {
        this.clock = clock;
        this.responses = responses;
    }

    /** The time on CLOCK_BOOTTIME. */
    long nowNs(RecordView request) {
        if (--servedUntilClock <= 0 || request.sentNs() > sentBeforeNs || responses.latestNs() > sentBeforeNs) {
            now(clock.bootNs());
        }
        return nowNs;
    }

    /** The clock was read. */
    void now(long bootNs) {
        nowNs = bootNs;
        sentBeforeNs = clock.wallNsAt(bootNs) + SHIFT_NS;
        servedUntilClock = MAX_SERVED_PER_CLOCK_READ;
    }
}
