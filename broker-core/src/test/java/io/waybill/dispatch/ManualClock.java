package io.waybill.dispatch;

import io.waybill.host.Clock;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** A clock that a test moves. Thread-safe. */
final class ManualClock implements Clock {

    private final AtomicLong nowNs = new AtomicLong(1_000_000_000L);

    void advance(Duration by) {
        nowNs.addAndGet(by.toNanos());
    }

    @Override
    public long monotonicNs() {
        return nowNs.get();
    }

    @Override
    public long bootNs() {
        return nowNs.get();
    }

    @Override
    public long wallNs() {
        return nowNs.get();
    }
}
