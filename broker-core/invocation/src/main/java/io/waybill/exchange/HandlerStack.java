package io.waybill.exchange;

import io.waybill.api.context.ThreadContext;
import io.waybill.dispatch.HandlerEntry;

/**
 * Stack of the handlers that one thread is inside of, the outermost first: a handler that waits may poll in the
 * meantime, and a handler that dispatches a message may run that message's handler.
 *
 * <p><b>Threads.</b> Belongs to its thread.
 */
public interface HandlerStack {

    /** Returns the current context of the thread. */
    ThreadContext context();

    /** Enters a handler. Returns the argument for {@link #leave}. */
    HandlerCall enter(HandlerCall begun);

    /** Leaves a handler that returned or threw. */
    void leave(HandlerCall before);

    /** Returns the outermost call; null for none. */
    HandlerCall outermost();

    /** Marks that the thread begins to run a handler that must not wait. */
    void beginInline();

    void endInline();

    /** Returns whether the thread is inside a handler that must not wait. */
    boolean isInline();

    /**
     * Keeps a task for this thread until the handler that it is inside of has returned, if the task is of the thread's
     * own bundle and expected to be short.
     *
     * @return whether the task is kept
     */
    default boolean keepTask(HandlerEntry entry, Runnable task) {
        return false;
    }

    /** Returns the object that {@link #keepSpare} kept, once; null for none. */
    Object takeSpare();

    /** Keeps an object for this thread's next message inside another one. Returns false when one is kept already. */
    boolean keepSpare(Object ended);
}
