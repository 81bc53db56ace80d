package io.waybill.autograd.pass;

import io.waybill.autograd.message.BackwardMessage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * State of a pass in this worker: its missing inputs, and its listeners, which decides when each {@link PassEnd} is
 * notified.
 *
 * <p><b>Termination.</b> Where a pass was passed on, its origin gets the response when the rest has completed, or with
 * the gradients that pass it back. Otherwise, in a SMART pass, the message that finds this worker idle is responded to
 * when the worker is idle again: no computation is running, and all its messages have responses. Other messages get
 * their response when they are computed. The pass is therefore over when all messages of its initiator have responses,
 * and no response depends on a later message. A FAST pass is not idle before all its gradients have arrived, so it
 * doesn't complete without them.
 *
 * <p><b>Threads.</b> Any. The caller notifies the listeners, not under the lock.
 */
final class PassState {

    /** Time of the response to a message that feeds the pass. */
    enum Fed {
        TOO_LATE,
        /** The response follows when this worker is idle. */
        AT_THE_END,
        /** The response follows when the message is computed. */
        COMPUTED
    }

    /** Remainder of a pass here after it was passed back. */
    enum Left {
        TOO_LATE,
        SOMETHING,
        NOTHING
    }

    /**
     * Listeners to notify now.
     *
     * @param isOver whether the pass has ended here
     */
    record Ends(List<PassEnd> all, boolean isOver) {

        private static final Ends NONE = new Ends(List.of(), false);

        void notifyDone() {
            all.forEach(PassEnd::done);
        }
    }

    private final boolean isFast;
    private final List<PassEnd> waiting = new ArrayList<>(1); // guarded by this, like all fields below
    private int calls; // calls in flight, except those with which the pass was passed on
    private int passedOn; // number of times that it was passed on without a response so far
    private final Deque<PassEnd> takenOver = new ArrayDeque<>(1); // its origins, the last one first
    private PassEnd takenToEnd; // the origin after which it was not passed on; null for none
    private boolean isComputed; // true when no computation is left here
    private int feeding; // number of threads that feed it, and of computations that were handed over
    private boolean isInitiator;
    private boolean hasEnded;

    PassState(boolean isFast) {
        this.isFast = isFast;
    }

    synchronized boolean hasEnded() {
        return hasEnded;
    }

    /** Adds a listener of a pass that begins here; returns false if the pass has already ended. */
    synchronized boolean begin(PassEnd end) {
        isInitiator = true;
        return !hasEnded && waiting.add(end);
    }

    // ---- passed on

    /**
     * Records that the pass was passed here; returns false if it has ended.
     *
     * @param from its origin; null if it was passed on from here, and passed back
     * @param isLink whether it will be passed on from here
     */
    synchronized boolean arrived(PassEnd from, boolean isLink) {
        if (hasEnded) {
            return false;
        }
        if (from == null) {
            passedOn--;
        } else {
            takenOver.push(from);
        }
        takenToEnd = isLink ? null : takenOver.peek();
        return true;
    }

    /** Returns the origin of the pass if it can be passed back to this worker; otherwise null. */
    synchronized PassEnd origin(int worker) {
        PassEnd from = hasEnded ? null : takenOver.peek();
        return from != null && from.mayReturnTo(worker) ? from : null;
    }

    /** Records that the pass is passed back with the response to its origin. It has ended here if no work is left. */
    synchronized Left passBack(PassEnd from) {
        if (hasEnded) {
            return Left.TOO_LATE;
        }
        takenOver.remove(from);
        hasEnded = !isInitiator && waiting.isEmpty() && takenOver.isEmpty() && passedOn == 0 && calls == 0;
        return hasEnded ? Left.NOTHING : Left.SOMETHING;
    }

    /** Records that the pass is passed on; returns false if it has ended. */
    synchronized boolean passOn() {
        passedOn += hasEnded ? 0 : 1;
        return !hasEnded;
    }

    /** Records that the work after the last passing-on has completed. */
    synchronized Ends followingEnded() {
        if (hasEnded) {
            return Ends.NONE;
        }
        passedOn--;
        PassEnd from = takenOver.poll();
        boolean isOver = passedOn == 0 && calls == 0 && (isComputed || feeding == 0);
        List<PassEnd> ends = new ArrayList<>(from == null ? List.of() : List.of(from));
        ends.addAll(isOver ? end() : List.of());
        return new Ends(ends, isOver);
    }

    // ---- fed

    /** Records that a message feeds the pass, until {@link #fed}. */
    synchronized Fed feed(PassEnd end) {
        if (hasEnded) {
            return Fed.TOO_LATE;
        }
        feeding++;
        boolean isFirst = waiting.isEmpty() && takenToEnd == null;
        if (isFirst) {
            waiting.add(end);
        }
        return isFirst ? Fed.AT_THE_END : Fed.COMPUTED;
    }

    /** Records that other code feeds the pass, or computes for it, until {@link #fed}. */
    synchronized void feed() {
        feeding++; // this worker is not idle until then
    }

    synchronized Ends fed() {
        feeding--;
        return idle();
    }

    /** Returns the listeners to notify now, if this worker is idle. */
    private Ends idle() {
        boolean isIdle = feeding == 0 && calls == 0 && !hasEnded;
        return isIdle && !isInitiator && !isFast ? new Ends(takeWaiting(), false) : Ends.NONE;
    }

    // ---- sent and computed

    /** Records that gradients are sent; returns false if the pass has ended. */
    synchronized boolean call() {
        calls += hasEnded ? 0 : 1;
        return !hasEnded;
    }

    /** Records the response to gradients. */
    synchronized Ends callEnded() {
        calls--;
        return advance();
    }

    synchronized Ends computed() {
        isComputed = true;
        return advance();
    }

    private Ends advance() {
        if (hasEnded) {
            return Ends.NONE;
        }
        boolean isEnd = isComputed && calls == 0;
        if (isEnd && passedOn == 0) {
            return new Ends(end(), true);
        }
        if (isEnd && takenToEnd != null) {
            PassEnd end = takenToEnd;
            takenToEnd = null;
            takenOver.remove(end);
            return new Ends(List.of(end), false);
        }
        return idle();
    }

    /**
     * Returns the listener that can carry gradients for this worker when the computation here is complete; null for
     * none.
     */
    synchronized PassEnd lastEnd(int worker) {
        if (hasEnded || calls > 0) {
            return null;
        }
        PassEnd only = isInitiator || waiting.size() != 1 ? null : waiting.get(0);
        PassEnd last = takenToEnd == null ? only : takenToEnd;
        return last != null && last.mayReturnTo(worker) ? last : null;
    }

    /** Attaches gradients to a listener, unless the pass has ended. */
    synchronized void keep(PassEnd end, BackwardMessage.Encoded gradients) {
        if (hasEnded) {
            gradients.release();
        } else {
            end.keep(gradients);
        }
    }

    // ---- ended

    /**
     * Ends the pass; returns its listeners, or null if it had already ended.
     *
     * @param before action that runs before the end is visible
     */
    synchronized List<PassEnd> stop(Runnable before) {
        if (hasEnded) {
            return null;
        }
        before.run();
        return end();
    }

    private List<PassEnd> end() {
        hasEnded = true;
        List<PassEnd> ends = takeWaiting();
        ends.addAll(takenOver);
        takenOver.clear();
        return ends;
    }

    private List<PassEnd> takeWaiting() {
        List<PassEnd> ends = new ArrayList<>(waiting);
        waiting.clear();
        return ends;
    }
}
