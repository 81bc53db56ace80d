package io.waybill.host.failure;

/**
 * Faults on mapped memory, caused by a truncated file or a failed disk. HotSpot skips the access, lets the thread
 * continue, and throws an {@link InternalError} later: from JDK 19 on at the next safepoint, before that when the
 * thread next enters the virtual machine, which may be much later and in unrelated code.
 *
 * <p>A thread calls {@link #surface} before code that these errors must not interrupt.
 *
 * <p><b>Threads.</b> Any; each has its own faults.
 */
public final class MappedFaults {

    private static final boolean REPORTED_LATE = Runtime.version().feature() < 19;
    /** Part of HotSpot's text, in each of its forms. */
    private static final String TEXT = "unsafe memory access operation";

    private static final int MAX_CAUSES = 8;

    // Never changed, which the compilers don't know: they would make an array of constant length by themselves, and
    // foresee the end of a loop.
    private static int nothing;
    private static int firstStep = 3;
    private static final int[] NEXT_STEP = {0, 0, 1, 2};

    private MappedFaults() {}

    /**
     * Throws the pending fault of this thread, if any.
     *
     * <p>On JDK 17 it makes an array of arrays, for which compiled code also enters the virtual machine: the cheapest
     * entry that throws pending errors. That costs 16 bytes and about 20 ns. From 19 on it runs one loop iteration,
     * which polls for a safepoint and takes a nanosecond or two.
     */
    public static void surface() {
        if (REPORTED_LATE) {
            enterVirtualMachine();
        } else {
            passSafepoint();
        }
    }

    /**
     * Drops the pending fault of this thread, if any, before code that must not be left incomplete: on JDK 17 a fault
     * that surfaces between a lock and the {@code try} after it keeps the lock.
     */
    public static void drop() {
        try {
            surface();
        } catch (InternalError e) {
            // the owner of the file detects it by itself
        }
    }

    private static void enterVirtualMachine() {
        if (new byte[nothing][nothing].length != 0) {
            throw new AssertionError("an array of no arrays has a length");
        }
    }

    private static void passSafepoint() {
        int step = firstStep;
        while (step != 0) {
            step = NEXT_STEP[step];
        }
    }

    /**
     * Returns whether this is a fault on mapped memory, or an exception that the code in which it surfaced made of one,
     * and not an error of that code.
     */
    public static boolean is(Throwable error) {
        Throwable cause = error;
        for (int depth = 0; cause != null && depth < MAX_CAUSES; depth++) {
            if (cause instanceof InternalError
                    && String.valueOf(cause.getMessage()).contains(TEXT)) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }
}
