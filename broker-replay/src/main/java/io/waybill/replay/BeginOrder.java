package io.waybill.replay;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Puts the calls of a worker, which come in the order of their answers, into the order in which it began them. It counts them from 1 in
 * each of its lives, and the answers of a life lie behind those of the life before. One thread.
 *
 * <p><b>Memory.</b> At most {@value #MOST} calls wait for one that began earlier, and at most {@value #MOST_BYTES} bytes of them. One that
 * comes still later is given out of order, and counted.
 */
final class BeginOrder {

    static final int MOST = 1 << 16;
    static final long MOST_BYTES = 64L << 20;

    /**
     * A call that a handler began.
     *
     * @param sequence its number among those of its life
     * @param generation of that life; a lower bound of it when {@code isSure} is false
     * @param call null when it is not wanted, and only fills its place
     */
    record Begun(long sequence, long generation, boolean isSure, RecordedCall call) {

        int bytes() {
            return call == null
                    ? 0
                    : call.request().record().length
                            + call.response()
                                    .map(found -> found.record().length)
                                    .orElse(0);
        }
    }

    private record Placed(long life, Begun begun) implements Comparable<Placed> {

        @Override
        public int compareTo(Placed other) {
            return life != other.life
                    ? Long.compare(life, other.life)
                    : Long.compare(begun.sequence, other.begun.sequence);
        }
    }

    private final PriorityQueue<Placed> waiting = new PriorityQueue<>();
    private final List<Begun> unsure = new ArrayList<>();
    private long waitingBytes;
    private long generation = -1;
    private long life;
    private long highest; // of this life
    private long givenLife;
    private long expected = 1;
    private boolean ended;
    private long outOfOrder;

    /** Takes the next one. */
    void add(Begun begun) {
        if (!begun.isSure && begun.generation <= generation) {
            unsure.add(begun);
            if (unsure.size() == MOST) {
                settle(generation);
            }
            return;
        }
        settle(begun.generation);
        if (begun.generation > generation) {
            beginLife(begun.generation);
        }
        place(begun);
    }

    /** Decides about those of which it is not known whether they belong to this life or to the next. */
    private void settle(long next) {
        for (Begun begun : unsure) {
            if (next > generation && begun.sequence <= highest) {
                beginLife(next);
            }
            place(begun);
        }
        unsure.clear();
    }

    private void beginLife(long next) {
        generation = next;
        life++;
        highest = 0;
    }

    private void place(Begun begun) {
        highest = Math.max(highest, begun.sequence);
        waiting.add(new Placed(life, begun));
        waitingBytes += begun.bytes();
    }

    /** There are no more. */
    void end() {
        settle(Long.MAX_VALUE);
        ended = true;
    }

    /** The next call; null when more must be added first, or behind the last one. */
    RecordedCall poll() {
        while (isReady()) {
            Placed next = waiting.remove();
            waitingBytes -= next.begun.bytes();
            if (next.life != givenLife) {
                givenLife = next.life;
                expected = 1;
            }
            if (next.begun.call != null) {
                outOfOrder += next.begun.sequence < expected ? 1 : 0;
            }
            expected = Math.max(expected, next.begun.sequence + 1);
            if (next.begun.call != null) {
                return next.begun.call;
            }
        }
        return null;
    }

    private boolean isReady() {
        Placed next = waiting.peek();
        if (next == null) {
            return false;
        }
        long nextExpected = next.life == givenLife ? expected : 1;
        return ended
                || next.life < life
                || next.begun.sequence <= nextExpected
                || waiting.size() > MOST
                || waitingBytes > MOST_BYTES;
    }

    /** How many were given behind one that began later. */
    long outOfOrder() {
        return outOfOrder;
    }
}
