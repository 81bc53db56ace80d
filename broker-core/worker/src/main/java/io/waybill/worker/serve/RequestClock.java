package io.waybill.worker.serve;

import io.waybill.host.Clock;
import io.waybill.wire.RecordView;

/**
 * The time for checking the deadlines of requests, at most a few requests old: reading the clock costs as much as the
 * rest of dispatching a request. After a pause of this process, the first request or response that was sent since then
 * triggers a new reading: at most one expired request is begun.
 *
 * <p><b>Threads.</b> Belongs to the holder of the poll permit.
 */
final class RequestClock {

    private static final int MAX_SERVED_PER_CLOCK_READ = 8;
    /** A request or response that was sent this long after the last reading triggers a new one. */
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

    /** Returns the time on CLOCK_BOOTTIME. */
    long nowNs(RecordView request) {
        if (--servedUntilClock <= 0 || request.sentNs() > sentBeforeNs || responses.latestNs() > sentBeforeNs) {
            now(clock.bootNs());
        }
        return nowNs;
    }

    /** Sets the time after a reading. */
    void now(long bootNs) {
        nowNs = bootNs;
        sentBeforeNs = clock.wallNsAt(bootNs) + SHIFT_NS;
        servedUntilClock = MAX_SERVED_PER_CLOCK_READ;
    }
}
