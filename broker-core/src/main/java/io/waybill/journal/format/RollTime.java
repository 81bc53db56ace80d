package io.waybill.journal.format;

import net.openhft.chronicle.core.time.TimeProvider;

/**
 * The clock by which a queue rolls: it stands at the time of the current file, and is put forward when a new one is to begin. It never goes
 * back, not even behind the last file of an earlier run: Chronicle would append to an older file, where readers no longer look.
 *
 * <p>For the queue's appending thread.
 */
public final class RollTime implements TimeProvider {

    private long latestMs;

    public RollTime(long notBeforeMs) {
        this.latestMs = notBeforeMs;
    }

    /** A file begins at this time. */
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
