package io.waybill.journal.format;

import net.openhft.chronicle.core.time.TimeProvider;

/**
 * Clock for the rolls of a queue: stands at the time of the current file, and is moved forward when a new one begins.
 * It never moves back, not even before the last file of an earlier run: Chronicle would append to an older file, which
 * readers have finished.
 *
 * <p>For the queue's appending thread.
 */
public final class RollTime implements TimeProvider {

    private long latestMs;

    public RollTime(long notBeforeMs) {
        this.latestMs = notBeforeMs;
    }

    /** Moves the clock to the time at which a file begins. */
    public void advanceTo(long ms) {
        if (ms > latestMs) {
            latestMs = ms;
        }
    }

    @Override
    public long currentTimeMillis() {
        return latestMs;
    }
}
