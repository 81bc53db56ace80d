package io.waybill.query.verify;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongConsumer;

/**
 * Counters of one worker that were used for requests, with their receivers and whether they have a response. Counters
 * ascend without large gaps, except after a boot of the host, so four bits and two bytes for each suffice; outliers are
 * not recorded. One thread at a time.
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

    /** The counters since a boot have the same bits above these. */
    private static final int COUNTER_BITS = 32;

    /** Max bits of a run: four sets of 32 MB. */
    private static final int MAX_BITS = 1 << 28;

    private static final int PAGE_BITS = 12;
    /** Max size of the receivers of a run: 64 MB, for 33 million requests. */
    private static final int MAX_PAGES = 1 << 13;

    private final Map<Long, Run> runs = new TreeMap<>(); // by the bits above, lowest first
    private long lowest = Long.MAX_VALUE;
    private long outside;

    /** Counters without large gaps. */
    private static final class Run {
        private final BitSet asked = new BitSet();
        private final BitSet responded = new BitSet();
        private final BitSet repeated = new BitSet();
        private final BitSet finished = new BitSet();
        private final Map<Integer, char[]> receivers = new HashMap<>();
        private final long base;

        Run(long counter) {
            base = counter & -64;
        }

        int bit(long counter) {
            return (int) (counter - base);
        }

        boolean isInside(long counter) {
            return counter >= base && counter - base < MAX_BITS;
        }

        void ask(int bit, int to, boolean isRepeated) {
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

        Match respond(int bit) {
            if (!asked.get(bit)) {
                return Match.NONE;
            }
            if (responded.get(bit)) {
                return repeated.get(bit) ? Match.AGAIN_AS_ASKED : Match.AGAIN;
            }
            responded.set(bit);
            return Match.FIRST;
        }

        int receiver(int bit) {
            char[] page = receivers.get(bit >> PAGE_BITS);
            return page == null ? UNKNOWN : page[bit & (1 << PAGE_BITS) - 1] - 1;
        }
    }

    /** Returns the run that has a counter; null for none. */
    private Run run(long counter) {
        Run run = runs.get(counter >>> COUNTER_BITS);
        return run != null && run.isInside(counter) ? run : null;
    }

    /** Records a request. */
    void ask(long counter, int to, boolean isRepeated) {
        lowest = Math.min(lowest, counter);
        runs.computeIfAbsent(counter >>> COUNTER_BITS, boot -> new Run(counter));
        Run run = run(counter);
        if (run == null) {
            outside++;
        } else {
            run.ask(run.bit(counter), to, isRepeated);
        }
    }

    /** Records that the receiver of a recorded request completed it. */
    void finish(long counter) {
        Run run = run(counter);
        if (run != null) {
            run.finished.set(run.bit(counter));
        }
    }

    /** Returns whether the receiver of a recorded request completed it. */
    boolean isFinished(long counter) {
        Run run = run(counter);
        return run != null && run.finished.get(run.bit(counter));
    }

    /** Records a response. */
    Match respond(long counter) {
        Run run = run(counter);
        return run == null ? Match.NONE : run.respond(run.bit(counter));
    }

    /** Returns the receiver of a recorded request; {@link #UNKNOWN} if it was not kept. */
    int receiver(long counter) {
        Run run = run(counter);
        return run == null ? UNKNOWN : run.receiver(run.bit(counter));
    }

    /** Returns whether a request of this counter may have been removed with an old file. */
    boolean isBefore(long counter) {
        return !runs.isEmpty() && counter < lowest;
    }

    /** Returns the number of requests that were not recorded. */
    long outside() {
        return outside;
    }

    long unansweredCount() {
        return runs.values().stream()
                .mapToLong(run -> run.asked.cardinality() - run.responded.cardinality())
                .sum();
    }

    /** Passes on the lowest counters without a response. */
    void unanswered(long max, LongConsumer counters) {
        long left = max;
        for (Run run : runs.values()) {
            for (int bit = run.asked.nextSetBit(0); bit >= 0 && left > 0; bit = run.asked.nextSetBit(bit + 1)) {
                if (!run.responded.get(bit)) {
                    counters.accept(run.base + bit);
                    left--;
                }
            }
        }
    }
}
