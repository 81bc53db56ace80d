package io.waybill.worker;

/** The stack of another thread, in the form that a logger prints. */
final class ThreadStack extends Exception {

    private static final long serialVersionUID = 1L;

    ThreadStack(StackTraceElement[] stack) {
        super("its stack", null, false, true);
        setStackTrace(stack);
    }

    /** The stack of a thread, as it is now. */
    static ThreadStack of(Thread thread) {
        return new ThreadStack(thread.getStackTrace());
    }
}
