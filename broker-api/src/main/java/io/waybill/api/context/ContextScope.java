package io.waybill.api.context;

/**
 * A time during which a context is the current one of a thread.
 *
 * <p><b>Threads.</b> Belongs to the thread that {@linkplain CallContext#makeCurrent opened} it. <b>Errors.</b> A scope that is never closed ends
 * with the handler, listener or task in which it was opened: the broker restores the thread's context then. On a thread of the program it stays.
 */
public final class ContextScope implements AutoCloseable {

    private final ThreadContext thread;
    final CallContext context;
    final ContextScope outer; // null for none

    ContextScope(ThreadContext thread, CallContext context, ContextScope outer) {
        this.thread = thread;
        this.context = context;
        this.outer = outer;
    }

    /**
     * Ends the scope, and makes the context current that was current before. Does nothing when the scope has ended.
     *
     * @throws IllegalStateException on another thread than its own, which changes nothing; or when scopes that were opened later are still open,
     *     which end with this one
     */
    @Override
    public void close() {
        thread.close(this);
    }
}
