package io.waybill.testing.core;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Waits for something that happens on another thread or in another process.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Waits {

    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(30);
    private static final long STEP_NS = 1_000_000;

    private Waits() {}

    /**
     * What a test waits for.
     *
     * @param <E> what the check may throw
     */
    @FunctionalInterface
    public interface Condition<E extends Exception> {

        /** Whether it has happened. */
        boolean isMet() throws E;
    }

    /** Checks every millisecond until the condition is met; fails after 30 seconds. */
    public static <E extends Exception> void until(String what, Condition<E> condition) throws E {
        until(() -> what, condition);
    }

    /** The same with a text that is built when the wait fails. */
    public static <E extends Exception> void until(Supplier<String> what, Condition<E> condition) throws E {
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (!condition.isMet()) {
            if (System.nanoTime() - untilNs > 0) {
                throw new AssertionError("not within 30 s: " + what.get());
            }
            LockSupport.parkNanos(STEP_NS);
        }
    }
}
