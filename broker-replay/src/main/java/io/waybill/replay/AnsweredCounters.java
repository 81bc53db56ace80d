package io.waybill.replay;

import java.util.BitSet;

/**
 * Which requests of one caller were answered by a handler, a bit for each. Counters ascend without large gaps; what lies far off is not
 * taken in. One thread.
 */
final class AnsweredCounters {

    /** At most 32 MB. */
    private static final int MOST = 1 << 28;

    private final BitSet answered = new BitSet();
    private long base = -1;

    /** @return false when it is answered already */
    boolean add(long counter) {
        if (base < 0) {
            base = counter & -Long.SIZE;
        }
        if (!covers(counter)) {
            return true;
        }
        int bit = (int) (counter - base);
        boolean isNew = !answered.get(bit);
        answered.set(bit);
        return isNew;
    }

    /** Notes from where on they count, before the first is answered. */
    void begin(long counter) {
        if (base < 0) {
            base = counter & -Long.SIZE;
        }
    }

    boolean has(long counter) {
        return covers(counter) && answered.get((int) (counter - base));
    }

    /** Whether it is known of this counter. */
    boolean covers(long counter) {
        return base >= 0 && counter >= base && counter - base < MOST;
    }
}
