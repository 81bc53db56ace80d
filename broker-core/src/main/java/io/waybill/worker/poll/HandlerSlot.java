package io.waybill.worker.poll;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Which handlers one thread is inside of: one that runs on a thread of its bundle, or a non-blocking one that a polling thread runs, or
 * the second within the first, when a handler waits for a response and polls meanwhile.
 *
 * <p><b>Threads.</b> Written by its thread; the housekeeper's reads it.
 */
public final class HandlerSlot {

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
    // Written last when a handler is entered, and read first and last by the housekeeper: what is read of the
    // invocation
    // in between is of one request.
    private HandlerCall innermost;
    private HandlerCall outermost;
    private int inline;
    private long inlineTurns; // how often it began or ended to serve a request inline: odd while it does
    private volatile boolean interrupted; // set by the housekeeper before it interrupts, taken by the thread itself

    HandlerSlot(Thread thread) {
        this.thread = thread;
    }

    public Thread thread() {
        return thread;
    }

    // ---- its own thread

    /** The thread is about to call a handler. Returns what {@link #leave} wants. */
    public HandlerCall enter(HandlerCall begun) {
        HandlerCall before = innermost;
        if (before == null) {
            outermost = begun;
        }
        INNERMOST.setRelease(this, begun);
        return before;
    }

    /** The handler returned, or threw. */
    public void leave(HandlerCall before) {
        INNERMOST.setRelease(this, before);
        if (before == null) {
            outermost = null;
        }
        if (interrupted) { // it was meant for the handler that is over
            interrupted = false;
            Thread.interrupted();
        }
    }

    /** The thread, which polled, serves a request: it calls the handler, and storages and converters in what it responds with. */
    public void beginInline() {
        inline++;
        INLINE_TURNS.setOpaque(this, inlineTurns + 1);
    }

    public void endInline() {
        inline--;
        INLINE_TURNS.setOpaque(this, inlineTurns + 1);
    }

    /** Whether the thread is inside a handler that must not wait. */
    public boolean isInline() {
        return inline > 0;
    }

    // ---- the housekeeper's thread

    /** Another number for each request that the thread serves inline; 0 while it serves none. */
    long inlineTurn() {
        long turns = (long) INLINE_TURNS.getOpaque(this);
        return (turns & 1) == 1 ? turns : 0;
    }

    /** What the thread is inside of now; null for nothing. */
    public HandlerCall innermost() {
        return (HandlerCall) INNERMOST.getAcquire(this);
    }

    /** What the thread was inside of first. To be confirmed by {@link #isStill}. */
    public HandlerCall outermost() {
        return outermost;
    }

    /** Whether the thread did not leave this call since {@link #innermost()} gave it, and it is of that request. */
    public boolean isStill(HandlerCall seen, long sequence) {
        VarHandle.loadLoadFence();
        return INNERMOST.getAcquire(this) == seen && seen.sequence() == sequence;
    }

    /**
     * Interrupts the handler that the thread is inside of. When it returns in this very moment, the interrupt stays until the thread leaves
     * the next handler, or clears it.
     */
    public void interrupt(HandlerCall seen) {
        interrupted = true;
        if (innermost() == seen) {
            thread.interrupt();
        }
    }
}
