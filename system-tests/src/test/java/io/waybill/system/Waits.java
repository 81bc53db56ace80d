package io.waybill.system;

import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Waits for something that happens elsewhere. */
final class Waits {

    private static final long LIMIT_NS = 30_000_000_000L;

    private Waits() {}

    /** Polls until the condition holds; fails after 30 seconds. */
    static void until(String what, Callable<Boolean> condition) throws Exception {
        until(() -> what, condition);
    }

    /** The same with a text that is made when it fails. */
    static void until(Supplier<String> what, Callable<Boolean> condition) throws Exception {
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (!condition.call()) {
            if (System.nanoTime() - untilNs > 0) {
                throw new AssertionError("not within 30 s: " + what.get());
            }
            LockSupport.parkNanos(2_000_000);
        }
    }
}
