package io.waybill.query;

import java.util.BitSet;
import java.util.function.LongConsumer;

/**
 * Which counters of one worker were used for requests, and which of them were answered. Counters ascend without large gaps, so that two
 * bits for each do; what lies far off is not taken in. One thread at a time.
 */
final class RequestIds {

    /** At most two times 32 MB. */
    private static final int MAX_BITS = 1 << 28;

    private final BitSet asked = new BitSet();
    private final BitSet answered = new BitSet();
    private long base = -1;
    private long outside;

    void ask(long counter) {
        if (base < 0) {
            base = counter & -64;
        }
        if (isInside(counter)) {
            asked.set((int) (counter - base));
        } else {
            outside++;
        }
    }

    /** Notes an answer. Returns whether the request is known. */
    boolean answer(long counter) {
        if (base < 0 || !isInside(counter) || !asked.get((int) (counter - base))) {
            return false;
        }
        answered.set((int) (counter - base));
        return true;
    }

    /** Whether a request of this counter may have been there, and was removed with an old file. */
    boolean isBefore(long counter) {
        return base >= 0 && counter < base;
    }

    private boolean isInside(long counter) {
        return counter >= base && counter - base < MAX_BITS;
    }

    /** Requests that were not taken in. */
    long outside() {
        return outside;
    }

    long unansweredCount() {
        return asked.cardinality() - answered.cardinality();
    }

    /** The lowest counters without an answer. */
    void unanswered(int most, LongConsumer counters) {
        int left = most;
        for (int bit = asked.nextSetBit(0); bit >= 0 && left > 0; bit = asked.nextSetBit(bit + 1)) {
            if (!answered.get(bit)) {
                counters.accept(base + bit);
                left--;
            }
        }
    }
}
