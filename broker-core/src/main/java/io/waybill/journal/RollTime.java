package io.waybill.journal;

import io.waybill.host.Clock;
import net.openhft.chronicle.core.time.TimeProvider;

/**
 * The clock by which a queue rolls: the wall clock, except that it never goes back, not even behind the last file of an earlier run. A
 * clock that was set back would make Chronicle append to an older file, where readers no longer look.
 *
 * <p>For the queue's appending thread, and for readers that do not mind an old value.
 */
final class RollTime implements TimeProvider {

    private final Clock clock;
    private long latestMs;

    RollTime(Clock clock, long notBeforeMs) {
        this.clock = clock;
        this.latestMs = notBeforeMs;
    }

    @Override
    public long currentTimeMillis() {
        long nowMs = clock.wallNs() / 1_000_000;
        if (nowMs > latestMs) {
            latestMs = nowMs;
        }
        return latestMs;
    }
}
