package io.waybill.autograd.pass;

import io.waybill.autograd.message.BackwardMessage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * What a pass waits for in this worker, and what waits for it here: when each {@link PassEnd} is notified.
 *
 * <p><b>Termination.</b> Where a pass was passed on, the worker that it came from has its response when what followed has ended, or with the gradients that pass it
 * back. Otherwise, in a SMART pass, the message that finds this worker idle is responded to when the worker is idle again: it computes nothing, and
 * everything that it sent is responded to. Other messages have their response when they are computed. So the pass is over when all messages of its initiator
 * are responded to, and no response depends on a message that comes later. A FAST pass is not idle before all its gradients have come, so that it doesn't end
 * without them.
 *
 * <p><b>Threads.</b> Any. Ends are notified by the caller, not under the lock.
 */
final class PassState {

    /** Whether a message feeds the pass. */
    enum Fed {
        TOO_LATE,
        /** It is responded to when this worker is idle. */
        AT_THE_END,
        /** It is responded to when it is computed. */
        COMPUTED
    }

    /** What is left here of a pass that was passed back. */
    enum Left {
        TOO_LATE,
        SOMETHING,
        NOTHING
    }

    /**
     * What is notified now.
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
    private final List<PassEnd> waiting = new ArrayList<>(1); // guarded by this, as all below
    private int calls; // in flight, without those that the pass was passed on with
    private int passedOn; // how often it was, where what follows has not ended
    private final Deque<PassEnd> takenOver = new ArrayDeque<>(1); // where it came from, the last one first
    private PassEnd takenToEnd; // the one of them after which it was not passed on; null for none
    private boolean isComputed; // nothing more is computed here
    private int feeding; // threads that feed it, and computations that were handed over
    private boolean isInitiator;
    private boolean hasEnded;

    PassState(boolean isFast) {
        this.isFast = isFast;
    }

    synchronized boolean hasEnded() {
        return hasEnded;
    }

    /** Adds what waits for a pass that begins here; returns false when it has ended, and would miss that. */
    synchronized boolean begin(PassEnd end) {
        isInitiator = true;
        return !hasEnded && waiting.add(end);
    }

    // ---- passed on

    /**
     * Notes that the pass was passed here; returns false when it has ended.
     *
     * @param from where it came from; null when it was passed on from here, and passed back
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

    /** Returns where the pass came from if it can go back there, to this worker; else null. */
    synchronized PassEnd origin(int worker) {
        PassEnd from = hasEnded ? null : takenOver.peek();
        return from != null && from.mayReturnTo(worker) ? from : null;
    }

    /** Notes that the pass is passed back with the response to where it came from. It has ended here if nothing is left. */
    synchronized Left passBack(PassEnd from) {
        if (hasEnded) {
            return Left.TOO_LATE;
        }
        takenOver.remove(from);
        hasEnded = !isInitiator && waiting.isEmpty() && takenOver.isEmpty() && passedOn == 0 && calls == 0;
        return hasEnded ? Left.NOTHING : Left.SOMETHING;
    }

    /** Notes that the pass is passed on; returns false when it has ended. */
    synchronized boolean passOn() {
        passedOn += hasEnded ? 0 : 1;
        return !hasEnded;
    }

    /** Notes that everything has ended that followed where the pass was passed on last. */
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

    /** Notes that a message feeds the pass, until {@link #fed}. */
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

    /** Notes that something else feeds the pass, or computes for it, until {@link #fed}. */
    synchronized void feed() {
        feeding++; // this worker is not idle before
    }

    synchronized Ends fed() {
        feeding--;
        return idle();
    }

    /** Returns the messages that have their response now, if this worker is idle. */
    private Ends idle() {
        boolean isIdle = feeding == 0 && calls == 0 && !hasEnded;
        return isIdle && !isInitiator && !isFast ? new Ends(takeWaiting(), false) : Ends.NONE;
    }

    // ---- sent and computed

    /** Notes that gradients are sent; returns false when the pass has ended. */
    synchronized boolean call() {
        calls += hasEnded ? 0 : 1;
        return !hasEnded;
    }

    /** Notes that gradients were responded to. */
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

    /** Returns what is notified, with gradients for this worker, as soon as everything here is computed; null for none. */
    synchronized PassEnd lastEnd(int worker) {
        if (hasEnded || calls > 0) {
            return null;
        }
        PassEnd only = isInitiator || waiting.size() != 1 ? null : waiting.get(0);
        PassEnd last = takenToEnd == null ? only : takenToEnd;
        return last != null && last.mayReturnTo(worker) ? last : null;
    }

    /** Lets gradients go with an end, unless the pass has ended. */
    synchronized void keep(PassEnd end, BackwardMessage.Encoded gradients) {
        if (hasEnded) {
            gradients.release();
        } else {
            end.keep(gradients);
        }
    }

    // ---- ended

    /**
     * Ends the pass; returns those that wait for it, or null when it has ended before.
     *
     * @param before runs before others see that it has ended
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
