package io.waybill.query.verify;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongConsumer;

/**
 * Counters of one worker that were used for requests, with their receivers and whether they have a response. Counters
 * ascend without large gaps, so four bits and two bytes for each suffice; outliers are not recorded. One thread at a
 * time.
 */
final class RequestIds {

    /** Relation of a response to the request with its id. */
    enum Match {
        /** The first response. */
        FIRST,
        /** A further response. */
        AGAIN,
        /** A further response to a repeated request. */
        AGAIN_AS_ASKED,
        /** No request has this id. */
        NONE
    }

    static final int UNKNOWN = -1;

    /** Max size of the bit sets: four times 32 MB. */
    private static final int MAX_BITS = 1 << 28;

    private static final int PAGE_BITS = 12;
    /** Max size of the receivers: 64 MB, for 33 million requests. */
    private static final int MAX_PAGES = 1 << 13;

    private final BitSet asked = new BitSet();
    private final BitSet responded = new BitSet();
    private final BitSet repeated = new BitSet();
    private final BitSet finished = new BitSet();
    private final Map<Integer, char[]> receivers = new HashMap<>();
    private long base = -1;
    private long lowest = Long.MAX_VALUE;
    private long outside;

    /** Records a request. */
    void ask(long counter, int to, boolean isRepeated) {
        if (base < 0) {
            base = counter & -64;
        }
        lowest = Math.min(lowest, counter);
        if (!isInside(counter)) {
            outside++;
            return;
        }
        int bit = (int) (counter - base);
        asked.set(bit);
        if (isRepeated) {
            repeated.set(bit);
        }
        char[] page = receivers.size() < MAX_PAGES
                ? receivers.computeIfAbsent(bit >> PAGE_BITS, any -> new char[1 << PAGE_BITS])
                : receivers.get(bit >> PAGE_BITS);
        if (page != null) {
            page[bit & (1 << PAGE_BITS) - 1] = (char) (to + 1);
        }
    }

    /** Records that the receiver of a recorded request completed it. */
    void finish(long counter) {
        if (isInside(counter)) {
            finished.set((int) (counter - base));
        }
    }

    /** Returns whether the receiver of a recorded request completed it. */
    boolean isFinished(long counter) {
        return finished.get((int) (counter - base));
    }

    /** Records a response. */
    Match respond(long counter) {
        if (base < 0 || !isInside(counter) || !asked.get((int) (counter - base))) {
            return Match.NONE;
        }
        int bit = (int) (counter - base);
        if (responded.get(bit)) {
            return repeated.get(bit) ? Match.AGAIN_AS_ASKED : Match.AGAIN;
        }
        responded.set(bit);
        return Match.FIRST;
    }

    /** Returns the receiver of a recorded request; {@link #UNKNOWN} if it was not kept. */
    int receiver(long counter) {
        int bit = (int) (counter - base);
        char[] page = receivers.get(bit >> PAGE_BITS);
        return page == null ? UNKNOWN : page[bit & (1 << PAGE_BITS) - 1] - 1;
    }

    /** Returns whether a request of this counter may have been removed with an old file. */
    boolean isBefore(long counter) {
        return base >= 0 && counter < lowest;
    }

    private boolean isInside(long counter) {
        return counter >= base && counter - base < MAX_BITS;
    }

    /** Returns the number of requests that were not recorded. */
    long outside() {
        return outside;
    }

    long unansweredCount() {
        return asked.cardinality() - responded.cardinality();
    }

    /** Passes on the lowest counters without a response. */
    void unanswered(long max, LongConsumer counters) {
        long left = max;
        for (int bit = asked.nextSetBit(0); bit >= 0 && left > 0; bit = asked.nextSetBit(bit + 1)) {
            if (!responded.get(bit)) {
                counters.accept(base + bit);
                left--;
            }
        }
    }
}
