package io.waybill.autograd.context;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Set of the last added ids, up to a number; each needs at most 24 bytes.
 *
 * <p><b>Threads.</b> One at a time.
 */
final class ReleasedIds {

    private static final int MIN_CAPACITY = 64;
    /** Stands for no id: ids are 0 or more. */
    private static final long NONE = -1;

    private final int max;
    private long[] ring = new long[MIN_CAPACITY]; // in order of addition; the length is a power of two
    private int first;
    private int size;
    private long[] table = empty(2 * MIN_CAPACITY); // each at the first free slot from its hash on

    /** @param max a power of two, {@value #MIN_CAPACITY} or more */
    ReleasedIds(int max) {
        this.max = max;
    }

    private static long[] empty(int places) {
        long[] table = new long[places];
        Arrays.fill(table, NONE);
        return table;
    }

    int size() {
        return size;
    }

    boolean contains(long id) {
        return table[place(id)] == id;
    }

    /** Adds an id, in place of the oldest one if there are too many. Has no effect if the id is present. */
    void add(long id) {
        if (contains(id)) {
            return;
        }
        if (size == max) {
            removeOldest();
        } else if (size == ring.length) {
            grow();
        }
        ring[(first + size++) & (ring.length - 1)] = id;
        table[place(id)] = id;
    }

    /** Returns the ids in the order of addition. */
    List<Long> all() {
        List<Long> ids = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            ids.add(ring[(first + i) & (ring.length - 1)]);
        }
        return ids;
    }

    private void grow() {
        List<Long> ids = all();
        ring = new long[2 * ring.length];
        first = 0;
        table = empty(2 * ring.length);
        for (int i = 0; i < size; i++) {
            ring[i] = ids.get(i);
            table[place(ring[i])] = ring[i];
        }
    }

    private void removeOldest() {
        int free = place(ring[first]);
        first = (first + 1) & (ring.length - 1);
        size--;
        int mask = table.length - 1;
        for (int at = (free + 1) & mask; table[at] != NONE; at = (at + 1) & mask) {
            if (((at - hash(table[at])) & mask) >= ((at - free) & mask)) { // it would not be found after a free slot
                table[free] = table[at];
                free = at;
            }
        }
        table[free] = NONE;
    }

    /** Returns the slot of an id, or the free slot where it would be. */
    private int place(long id) {
        int at = hash(id);
        while (table[at] != NONE && table[at] != id) {
            at = (at + 1) & (table.length - 1);
        }
        return at;
    }

    private int hash(long id) {
        return (int) (id * 0x9E3779B97F4A7C15L >>> 32) & (table.length - 1);
    }
}
