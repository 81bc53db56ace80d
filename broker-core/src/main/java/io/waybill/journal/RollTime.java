package io.waybill.journal;

import net.openhft.chronicle.core.time.TimeProvider;

/**
 * The clock by which a queue rolls: the wall clock of the last append, except that it never goes back, not even behind the last file of
 * an earlier run. A clock that was set back would make Chronicle append to an older file, where readers no longer look.
 *
 * <p>For the queue's appending thread.
 */
final class RollTime implements TimeProvider {

    private long latestMs;

    RollTime(long notBeforeMs) {
        this.latestMs = notBeforeMs;
    }

    /** An append begins at this time. */
    void advanceTo(long wallNs) {
        long nowMs = wallNs / 1_000_000;
        if (nowMs > latestMs) {
            latestMs = nowMs;
        }
    }

    @Override
    public long currentTimeMillis() {
        return latestMs;
    }
}
