package io.waybill.worker.poll;

import io.waybill.api.context.ThreadContext;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.PoolThread;
import io.waybill.event.EventView;
import io.waybill.exchange.HandlerCall;
import io.waybill.exchange.HandlerStack;
import io.waybill.handling.CallReports;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The handlers that one thread is inside: a handler on a thread of its bundle, a non-blocking handler on a polling
 * thread, or the second within the first, when a handler waits for a response and polls meanwhile.
 */
public final class HandlerSlot implements HandlerStack {

    private static final VarHandle INNERMOST;
    private static final VarHandle INLINE_TURNS;

    static {
        try {
            INLINE_TURNS = MethodHandles.lookup().findVarHandle(HandlerSlot.class, "inlineTurns", long.class);
            INNERMOST = MethodHandles.lookup().findVarHandle(HandlerSlot.class, "innermost", HandlerCall.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Thread thread;
    private final ThreadContext context = ThreadContext.own();
    private EventView event; // null until there are listeners for events
    private int tasks;
    private boolean prepared;
    private Object spare; // for reuse by this thread; null for none
    PoolThread pooled; // thread of the executor, set with it
    volatile HandlerExecutor executor; // set before its thread polls in place of the poller, which reads it
    HandlerPolling leads; // set while the thread polls in place of the poller; by this thread only
    boolean hasLeft; // whether it left a task to itself since it began to poll; by this thread only
    HandlerExecutor polledFor; // while the thread polls for this executor, outside its handlers; by this thread only
    // Time of entry into the handler that it polled, on the boot clock; 0 while it is in none. Written by its thread,
    // read by the poller.
    volatile long polledSinceNs;
    // Written last when a handler is entered, and read first and last by the housekeeper: the values read in between
    // are of one request.
    private HandlerCall innermost;
    private HandlerCall outermost;
    private int inline;
    private long inlineTurns; // odd while the thread serves a request inline
    private volatile boolean interrupted; // set by the housekeeper before it interrupts, cleared by the thread

    /** Creates the slot of the calling thread. */
    HandlerSlot(Thread thread) {
        this.thread = thread;
    }

    public Thread thread() {
        return thread;
    }

    // ---- its own thread

    /** Returns the current context of the thread. */
    @Override
    public ThreadContext context() {
        return context;
    }

    /** Returns the time at which it entered the handler that it polled, on the boot clock. */
    public long polledSinceNs() {
        return polledSinceNs;
    }

    /** Enters a handler. Returns the argument for {@link #leave}. */
    @Override
    public HandlerCall enter(HandlerCall begun) {
        HandlerCall before = innermost;
        if (before == null) {
            outermost = begun;
        }
        INNERMOST.setRelease(this, begun);
        return before;
    }

    /** Leaves a handler that returned or threw. */
    @Override
    public void leave(HandlerCall before) {
        INNERMOST.setRelease(this, before);
        if (before == null) {
            outermost = null;
        }
        if (interrupted) { // the interrupt was meant for the handler that has ended
            interrupted = false;
            Thread.interrupted();
        }
    }

    /** Takes the object that {@link #keepSpare} kept; null for none. */
    @Override
    public Object takeSpare() {
        Object kept = spare;
        spare = null;
        return kept;
    }

    /** Keeps an object for this thread's next message inside another one. Returns false when it already keeps one. */
    @Override
    public boolean keepSpare(Object ended) {
        if (spare != null) {
            return false;
        }
        spare = ended;
        return true;
    }

    /**
     * Marks that this polling thread serves a request inline: it runs foreign code of the handler, storages and
     * converters.
     */
    @Override
    public void beginInline() {
        inline++;
        INLINE_TURNS.setOpaque(this, inlineTurns + 1);
    }

    @Override
    public void endInline() {
        inline--;
        INLINE_TURNS.setOpaque(this, inlineTurns + 1);
    }

    /** Returns whether the thread is inside a handler that must not wait. */
    @Override
    public boolean isInline() {
        return inline > 0;
    }

    /**
     * Leaves a task to this thread, which runs it when the non-blocking handler that it is inside has returned: if the
     * thread leads, and the task is of its own bundle and expected to be short. No other thread is woken.
     *
     * @return whether the task was left to this thread
     */
    @Override
    public boolean keepTask(HandlerEntry entry, Runnable task) {
        return leads != null && leads.leave(this, entry, task);
    }

    /** Marks that the thread begins a request, and reports events of it by itself. */
    public void beginTask() {
        tasks++;
    }

    /** Ends {@link #beginTask}, and reports the response that was prepared. */
    public void endTask(CallReports reports) {
        tasks--;
        if (prepared) {
            prepared = false;
            reports.prepared(event);
        }
    }

    /** Returns the thread's own event. */
    public EventView event(CallReports reports) {
        if (event == null) {
            event = reports.newEvent();
        }
        return event;
    }

    /** Returns the event for {@link #endTask}; null when the thread begins no request, or has prepared one. */
    public EventView prepare(CallReports reports) {
        if (tasks == 0 || prepared) {
            return null;
        }
        prepared = true;
        return event(reports);
    }

    // ---- the housekeeper's thread

    /** Returns a different number for each request that the thread serves inline; 0 while it serves none. */
    long inlineTurn() {
        long turns = (long) INLINE_TURNS.getOpaque(this);
        return (turns & 1) == 1 ? turns : 0;
    }

    /** Returns the innermost call that the thread is inside of; null for none. */
    public HandlerCall innermost() {
        return (HandlerCall) INNERMOST.getAcquire(this);
    }

    /** Returns the outermost call that the thread is inside of. To be confirmed by {@link #isStill}. */
    @Override
    public HandlerCall outermost() {
        return outermost;
    }

    /** Returns whether the thread has been in this call, for this request, since {@link #innermost()} returned it. */
    public boolean isStill(HandlerCall seen, long sequence) {
        VarHandle.loadLoadFence();
        return INNERMOST.getAcquire(this) == seen && seen.sequence() == sequence;
    }

    /**
     * Interrupts the handler that the thread is inside of. If it returns at this moment, the interrupt stays until the
     * thread leaves its next handler, or clears it.
     */
    public void interrupt(HandlerCall seen) {
        interrupted = true;
        if (innermost() == seen) {
            thread.interrupt();
        }
    }
}
