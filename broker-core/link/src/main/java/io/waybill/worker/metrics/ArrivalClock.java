package io.waybill.worker.metrics;

import io.waybill.host.Clock;

/**
 * The time at which responses arrive, with few readings of the clock: a response arrived after it was sent, and after
 * the last reading. The clock is read again when a response was sent {@value #SHIFT_NS} ns after that, or after
 * {@value #MAX_USES} responses. So each time is exact while there are fewer than 50,000 responses a second; with more,
 * the responses between two readings count as arrived when they were sent.
 *
 * <p><b>Threads.</b> Belongs to the holder of the poll permit.
 */
public final class ArrivalClock {

    private static final long SHIFT_NS = 20_000;
    private static final int MAX_USES = 64;

    private final Clock clock;
    private long readNs;
    private int left;

    public ArrivalClock(Clock clock) {
        this.clock = clock;
    }

    /**
     * Returns the time at which a response arrived, on the wall clock.
     *
     * @param sentNs as its sender claims
     */
    public long arrivedNs(long sentNs) {
        if (sentNs - readNs > SHIFT_NS || --left <= 0) {
            readNs = clock.wallNs();
            left = MAX_USES;
        }
        return Math.max(readNs, Math.min(sentNs, readNs + SHIFT_NS));
    }
}
