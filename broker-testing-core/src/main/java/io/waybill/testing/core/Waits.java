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

    private static final int LIMIT_S = 120; // for machines that are busy with other work
    private static final long STEP_NS = 1_000_000;

    private Waits() {}

    /**
     * Condition that a test waits for.
     *
     * @param <E> exception of the check
     */
    @FunctionalInterface
    public interface Condition<E extends Exception> {

        /** Returns whether it has happened. */
        boolean isMet() throws E;
    }

    /** Checks every millisecond until the condition is met; fails after {@value #LIMIT_S} seconds. */
    public static <E extends Exception> void until(String what, Condition<E> condition) throws E {
        until(() -> what, condition);
    }

    /**
     * Waits with a text that is built when the wait fails. It also fails when it is interrupted, such as by JUnit when
     * the test's own time is over, so that what was waited for is not lost.
     */
    public static <E extends Exception> void until(Supplier<String> what, Condition<E> condition) throws E {
        long startNs = System.nanoTime();
        boolean wasInterrupted = Thread.currentThread().isInterrupted(); // by the test
        while (!condition.isMet()) {
            long waitedS = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNs);
            if (waitedS >= LIMIT_S) {
                throw new AssertionError("not within " + LIMIT_S + " s: " + what.get());
            }
            if (!wasInterrupted && Thread.currentThread().isInterrupted()) {
                throw new AssertionError("interrupted after " + waitedS + " s: " + what.get());
            }
            LockSupport.parkNanos(STEP_NS);
        }
    }
}
