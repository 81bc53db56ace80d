package io.waybill.replay.run;

import io.waybill.api.context.ThreadContext;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.exchange.HandlerCall;
import io.waybill.exchange.HandlerStack;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Stack of the handlers that the thread of a replay is inside of. It lets another thread detect a handler that does not
 * return, and replace the thread.
 *
 * <p><b>Threads.</b> Belongs to the thread that calls handlers, except for {@link #turn}, {@link #giveUp},
 * {@link #isMine} and {@link #isInline}.
 */
final class ReplayStack implements HandlerStack {

    /** Signals that the thread was abandoned while it was in a handler: it must not change any state. */
    static final class GivenUpError extends Error {
        private static final long serialVersionUID = 1L;

        GivenUpError() {
            super("the handler came back after its limit", null, false, false);
        }
    }

    private static final long GIVEN_UP = -1;

    // Odd while a handler runs. Set by the thread that calls handlers, unless another thread abandons it.
    private final AtomicLong turn = new AtomicLong();
    private volatile Thread owner; // set by itself, compared by the handlers' own threads
    private volatile HandlerCall innermost; // set by the owner, read by the handlers' own threads; null for none
    private HandlerCall outermost;
    private Object spare;

    /** Called by the thread that calls handlers, before each call. */
    void begin() {
        owner = Thread.currentThread();
    }

    boolean isMine() {
        return Thread.currentThread() == owner;
    }

    @Override
    public ThreadContext context() {
        return ThreadContext.own();
    }

    @Override
    public HandlerCall enter(HandlerCall begun) {
        HandlerCall before = innermost;
        innermost = begun;
        if (before == null) {
            outermost = begun;
            turn.set(turn.getPlain() + 1);
        }
        return before;
    }

    /** Leaves a handler. Throws {@link GivenUpError} if the thread was abandoned meanwhile. */
    @Override
    public void leave(HandlerCall before) {
        innermost = before;
        long now = turn.getPlain();
        if (before == null) {
            outermost = null;
            if (now == GIVEN_UP || !turn.compareAndSet(now, now + 1)) {
                throw new GivenUpError();
            }
        }
    }

    @Override
    public HandlerCall outermost() {
        return outermost;
    }

    @Override
    public void beginInline() {
        // the innermost handler reports it
    }

    @Override
    public void endInline() {
        // as above
    }

    @Override
    public boolean isInline() {
        HandlerCall inside = innermost;
        HandlerEntry entry = inside == null ? null : inside.entry();
        return entry != null && entry.neverBlocks();
    }

    @Override
    public Object takeSpare() {
        Object kept = spare;
        spare = null;
        return kept;
    }

    @Override
    public boolean keepSpare(Object ended) {
        boolean isFree = spare == null;
        spare = isFree ? ended : spare;
        return isFree;
    }

    static boolean isInHandler(long turn) {
        return (turn & 1) != 0 && turn > 0;
    }

    /** Returns a number that changes with each call; see {@link #isInHandler}. */
    long turn() {
        return turn.get();
    }

    /** Abandons the thread if its handler is still in this turn. */
    boolean giveUp(long inTurn) {
        return turn.compareAndSet(inTurn, GIVEN_UP);
    }
}
