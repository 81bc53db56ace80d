package io.waybill.worker.poll;

/** Stack of another thread, as an exception that a logger can print. */
public final class ThreadStack extends Exception {

    private static final long serialVersionUID = 1L;

    public ThreadStack(StackTraceElement[] stack) {
        super("its stack", null, false, true);
        setStackTrace(stack);
    }

    /** Captures the current stack of a thread. */
    static ThreadStack of(Thread thread) {
        return new ThreadStack(thread.getStackTrace());
    }
}
