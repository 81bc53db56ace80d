package io.waybill.api.context;

/**
 * Period during which a context is the current one of a thread.
 *
 * <p><b>Threads.</b> Belongs to the thread that {@linkplain CallContext#makeCurrent opened} it. <b>Errors.</b> If a
 * handler, listener or task leaves a scope open, the broker closes it and restores the thread's context. On a program's
 * own thread an open scope stays.
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
     * Closes the scope and restores the previous context. Has no effect on a closed scope.
     *
     * @throws IllegalStateException on another thread, where it changes nothing; or if scopes that were opened later
     *     are still open, which are closed as well
     */
    @Override
    public void close() {
        thread.close(this);
    }
}
