package io.waybill.worker;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for something that happens on another thread. */
public final class Waits {

    private static final long LIMIT_NS = 30_000_000_000L;

    private Waits() {}

    /** Polls until the condition holds; fails after 30 seconds. */
    public static void until(String what, BooleanSupplier condition) {
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > untilNs) {
                throw new AssertionError("not within 30 s: " + what);
            }
            LockSupport.parkNanos(1_000_000);
        }
    }
}
