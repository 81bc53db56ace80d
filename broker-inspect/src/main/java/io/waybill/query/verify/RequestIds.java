package io.waybill.query.verify;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongConsumer;

/**
 * Which counters of one worker were used for requests, to whom, and which of them were answered. Counters ascend without large gaps, so
 * that four bits and two bytes for each do; what lies far off is not taken in. One thread at a time.
 */
final class RequestIds {

    /** What a response is to the request with its id. */
    enum Match {
        /** The first one. */
        FIRST,
        /** Another one. */
        AGAIN,
        /** Another one, and the request was sent again too. */
        AGAIN_AS_ASKED,
        /** There is no such request. */
        NONE
    }

    static final int UNKNOWN = -1;

    /** At most four times 32 MB. */
    private static final int MAX_BITS = 1 << 28;

    private static final int PAGE_BITS = 12;
    /** At most 64 MB: of 33 million requests it is known to whom they went. */
    private static final int MAX_PAGES = 1 << 13;

    private final BitSet asked = new BitSet();
    private final BitSet responded = new BitSet();
    private final BitSet repeated = new BitSet();
    private final BitSet finished = new BitSet();
    private final Map<Integer, char[]> receivers = new HashMap<>();
    private long base = -1;
    private long lowest = Long.MAX_VALUE;
    private long outside;

    /** Notes a request. */
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

    /** Its receiver said of the request, which was noted, that it is finished. */
    void finish(long counter) {
        if (isInside(counter)) {
            finished.set((int) (counter - base));
        }
    }

    /** Whether the receiver of a request that was noted said that it is finished. */
    boolean isFinished(long counter) {
        return finished.get((int) (counter - base));
    }

    /** Notes a response. */
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

    /** To whom a request that was noted went; {@link #UNKNOWN} when that was not kept. */
    int receiver(long counter) {
        int bit = (int) (counter - base);
        char[] page = receivers.get(bit >> PAGE_BITS);
        return page == null ? UNKNOWN : page[bit & (1 << PAGE_BITS) - 1] - 1;
    }

    /** Whether a request of this counter may have been there, and was removed with an old file. */
    boolean isBefore(long counter) {
        return base >= 0 && counter < lowest;
    }

    private boolean isInside(long counter) {
        return counter >= base && counter - base < MAX_BITS;
    }

    /** Requests that were not taken in. */
    long outside() {
        return outside;
    }

    long unansweredCount() {
        return asked.cardinality() - responded.cardinality();
    }

    /** The lowest counters without a response. */
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
