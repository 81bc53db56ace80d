package io.waybill.worker.poll;

/** The stack of another thread, in the form that a logger prints. */
public final class ThreadStack extends Exception {

    private static final long serialVersionUID = 1L;

    public ThreadStack(StackTraceElement[] stack) {
        super("its stack", null, false, true);
        setStackTrace(stack);
    }

    /** The stack of a thread, as it is now. */
    static ThreadStack of(Thread thread) {
        return new ThreadStack(thread.getStackTrace());
    }
}
