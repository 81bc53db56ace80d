package io.waybill.api.context;

/**
 * The current context of one thread, for the broker, which runs foreign code on the thread. Bundles and programs use
 * {@link CallContext} instead.
 *
 * <p><b>Threads.</b> Belongs to its thread.
 */
public final class ThreadContext {

    private static final ThreadLocal<ThreadContext> OWN = ThreadLocal.withInitial(ThreadContext::new);

    private final Thread thread = Thread.currentThread();
    private ContextScope innermost; // null while the context is empty

    private ThreadContext() {}

    /** Returns the object of the calling thread. */
    public static ThreadContext own() {
        return OWN.get();
    }

    /** Returns the current context. */
    public CallContext current() {
        ContextScope scope = innermost;
        return scope == null ? CallContext.EMPTY : scope.context;
    }

    /**
     * Makes a context current before foreign code runs. Scopes that are open now can't be closed until {@link #leave}.
     *
     * @return the argument for {@link #leave}; null if the context was empty
     */
    public ContextScope enter(CallContext context) {
        ContextScope before = innermost;
        innermost = context.isEmpty() ? null : new ContextScope(this, context, null);
        return before;
    }

    /**
     * Returns the argument with which {@link #leave} closes every scope that is opened from now on; null while the
     * context is empty.
     */
    public ContextScope mark() {
        return innermost;
    }

    /** Reverts {@link #enter}, or closes every scope that was opened since {@link #mark}. */
    public void leave(ContextScope before) {
        innermost = before;
    }

    ContextScope open(CallContext context) {
        innermost = new ContextScope(this, context, innermost);
        return innermost;
    }

    void close(ContextScope scope) {
        if (thread != Thread.currentThread()) {
            throw new IllegalStateException(
                    "a scope is closed by the thread that opened it, which is " + thread.getName() + ", and not by "
                            + Thread.currentThread().getName());
        }
        int open = 0;
        for (ContextScope each = innermost; each != null; each = each.outer) {
            if (each == scope) {
                innermost = scope.outer;
                requireNoneInside(open);
                return;
            }
            open++;
        }
    }

    private static void requireNoneInside(int open) {
        if (open > 0) {
            throw new IllegalStateException("scopes are closed in the reverse order of their opening, and " + open
                    + " that were opened later" + " were still open; they ended with this one");
        }
    }
}
