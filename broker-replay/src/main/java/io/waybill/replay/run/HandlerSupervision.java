package io.waybill.replay.run;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.context.ThreadContext;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.handling.ComposedOutbox;
import io.waybill.handling.Failure;
import io.waybill.handling.HandlerInterception;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Calls handlers on behalf of one thread, so that another thread can detect that a handler does not return, and replace
 * the thread.
 *
 * <p><b>Threads.</b> Belongs to the one that calls handlers, but for {@link #turn} and {@link #giveUp}.
 */
final class HandlerSupervision {

    /** The thread was given up while it was in a handler: it must leave everything as it is. */
    static final class GivenUpError extends Error {
        private static final long serialVersionUID = 1L;

        GivenUpError() {
            super("the handler came back after its limit", null, false, false);
        }
    }

    private static final long GIVEN_UP = -1;

    private final int worker;
    // Odd while a handler runs. Set by the thread that calls handlers, unless another one gives it up.
    private final AtomicLong turn = new AtomicLong();
    private volatile Thread owner; // set by itself, compared by threads of handlers' own
    private int depth; // of handlers in each other: a value may be made while its reader runs

    /**
     * Creates a supervision.
     *
     * @param worker whose handlers they are
     */
    HandlerSupervision(int worker) {
        this.worker = worker;
    }

    /** Called by the thread that calls handlers, before it does. */
    void begin() {
        owner = Thread.currentThread();
    }

    boolean isMine() {
        return Thread.currentThread() == owner;
    }

    /** Calls a handler between its interceptors. Returns the error that it or one of them decided; empty for none. */
    Optional<Failure> call(
            HandlerEntry entry, HandlerInterception interception, InboundMessage message, ComposedOutbox outbox) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        ClassLoader wanted = entry.contextClassLoader();
        enter();
        if (wanted != before) {
            thread.setContextClassLoader(wanted);
        }
        try {
            return Optional.ofNullable(interception.handle(entry, message, outbox, ThreadContext.own()));
        } catch (GivenUpError e) {
            throw e;
        } catch (RejectedMessageException e) {
            return Optional.of(Failure.rejected(worker, e));
        } catch (Throwable e) { // the boundary around a handler
            return Optional.of(Failure.threw(worker, e));
        } finally {
            if (wanted != before) {
                thread.setContextClassLoader(before);
            }
            leave();
        }
    }

    /**
     * Calls the interceptors of a deferred response.
     *
     * @param error empty when the response is the outcome
     */
    Optional<Failure> after(HandlerInterception interception, OutgoingResponse response, Optional<Failure> error) {
        enter();
        try {
            return Optional.ofNullable(interception.after(error.isPresent() ? null : response, error.orElse(null)));
        } finally {
            leave();
        }
    }

    private void enter() {
        if (depth++ == 0) {
            turn.set(turn.getPlain() + 1);
        }
    }

    private void leave() {
        long now = turn.getPlain();
        if (--depth == 0 && (now == GIVEN_UP || !turn.compareAndSet(now, now + 1))) {
            throw new GivenUpError();
        }
    }

    static boolean isInHandler(long turn) {
        return (turn & 1) != 0 && turn > 0;
    }

    /** Changes with each call; see {@link #isInHandler}. */
    long turn() {
        return turn.get();
    }

    /** Abandons the thread if its handler is still in this turn. */
    boolean giveUp(long inTurn) {
        return turn.compareAndSet(inTurn, GIVEN_UP);
    }
}
