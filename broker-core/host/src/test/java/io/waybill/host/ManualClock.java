package io.waybill.host;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** A clock that a test moves. Thread-safe. */
public final class ManualClock implements Clock {

    private final AtomicLong monotonicNs = new AtomicLong(1_000_000_000L);
    private final AtomicLong suspendedNs = new AtomicLong();

    public void advance(Duration by) {
        monotonicNs.addAndGet(by.toNanos());
    }

    /** Time passes for the boot clock alone. */
    public void suspend(Duration by) {
        suspendedNs.addAndGet(by.toNanos());
    }

    @Override
    public long monotonicNs() {
        return monotonicNs.get();
    }

    @Override
    public long bootNs() {
        return monotonicNs.get() + suspendedNs.get();
    }

    @Override
    public long wallNs() {
        return bootNs();
    }
}
