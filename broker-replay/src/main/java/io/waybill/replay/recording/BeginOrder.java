package io.waybill.replay.recording;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Sorts the calls of a worker from the order of their responses into the order in which its handlers began them. Runs
 * of handlers are numbered from 1 in each incarnation of the worker, and all responses of an incarnation follow those
 * of the previous one. One thread.
 *
 * <p><b>Memory.</b> At most {@value #MAX_CALLS} calls wait for one that began earlier, and at most {@value #MAX_BYTES}
 * bytes of them. A call that arrives even later is returned out of order, and counted.
 */
final class BeginOrder {

    static final int MAX_CALLS = 1 << 16;
    static final long MAX_BYTES = 64L << 20;

    /**
     * A call that a handler began.
     *
     * @param sequence number of the handler's run in its incarnation
     * @param epoch epoch of the incarnation; a lower bound if {@code isSure} is false
     * @param call null if it is not wanted, and only fills its position
     */
    record Begun(long sequence, long epoch, boolean isSure, RecordedCall call) {

        int bytes() {
            return call == null ? 0 : call.bytes();
        }
    }

    private record Waiting(long incarnation, Begun begun) {}

    private final PriorityQueue<Waiting> waiting = new PriorityQueue<>(
            Comparator.comparingLong(Waiting::incarnation).thenComparingLong(each -> each.begun.sequence));
    private final List<Begun> unsure = new ArrayList<>();
    private long waitingBytes;
    private long epoch = -1;
    private long incarnation; // number of incarnations seen so far
    private long highestSequence; // highest sequence of this incarnation
    private long givenIncarnation;
    private long expected = 1;
    private boolean ended;
    private long outOfOrder;

    /** Adds the next call. */
    void add(Begun begun) {
        if (!begun.isSure && begun.epoch <= epoch) {
            unsure.add(begun);
            if (unsure.size() == MAX_CALLS) {
                decide(epoch);
            }
            return;
        }
        decide(begun.epoch);
        if (begun.epoch > epoch) {
            beginIncarnation(begun.epoch);
        }
        addToIncarnation(begun);
    }

    /** Assigns calls with an uncertain incarnation to this one or the next. */
    private void decide(long nextEpoch) {
        for (Begun begun : unsure) {
            if (nextEpoch > epoch && begun.sequence <= highestSequence) {
                beginIncarnation(nextEpoch);
            }
            addToIncarnation(begun);
        }
        unsure.clear();
    }

    private void beginIncarnation(long nextEpoch) {
        epoch = nextEpoch;
        incarnation++;
        highestSequence = 0;
    }

    private void addToIncarnation(Begun begun) {
        highestSequence = Math.max(highestSequence, begun.sequence);
        waiting.add(new Waiting(incarnation, begun));
        waitingBytes += begun.bytes();
    }

    /** Marks the end of the calls. */
    void end() {
        decide(Long.MAX_VALUE);
        ended = true;
    }

    /** Returns the next call; null if more calls must be added first, or after the last one. */
    RecordedCall poll() {
        while (isReady()) {
            Waiting next = waiting.remove();
            waitingBytes -= next.begun.bytes();
            expected = next.incarnation == givenIncarnation ? expected : 1;
            givenIncarnation = next.incarnation;
            boolean isLate = next.begun.sequence < expected;
            expected = Math.max(expected, next.begun.sequence + 1);
            if (next.begun.call != null) {
                outOfOrder += isLate ? 1 : 0;
                return next.begun.call;
            }
        }
        return null;
    }

    private boolean isReady() {
        Waiting next = waiting.peek();
        return next != null
                && (ended
                        || next.incarnation < incarnation
                        || next.begun.sequence <= (next.incarnation == givenIncarnation ? expected : 1)
                        || waiting.size() > MAX_CALLS
                        || waitingBytes > MAX_BYTES);
    }

    /** Returns the number of calls that were returned after a call that began later. */
    long outOfOrder() {
        return outOfOrder;
    }
}
