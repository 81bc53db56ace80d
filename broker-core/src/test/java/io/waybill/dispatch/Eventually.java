package io.waybill.dispatch;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what other threads bring about, for a bounded time. */
final class Eventually {

    private Eventually() {}

    static void eventually(String what, BooleanSupplier isSo) {
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!isSo.getAsBoolean()) {
            if (System.nanoTime() - untilNs > 0) {
                throw new AssertionError("not within 20 s: " + what);
            }
            LockSupport.parkNanos(1_000_000);
        }
    }
}
