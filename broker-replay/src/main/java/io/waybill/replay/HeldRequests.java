package io.waybill.replay;

import java.util.Arrays;

/**
 * Requests of one caller that were read and whose answers were not, in the order of their counters. Those that wait longest are dropped
 * when there are too many. One thread.
 */
final class HeldRequests {

    /** Most that wait, those that were taken from among them included. */
    static final int MOST = 1 << 16;

    private static final int FIRST_SLOTS = 64;

    private final long mostBytes;
    private long[] counters = new long[FIRST_SLOTS];
    private Asked[] slots = new Asked[FIRST_SLOTS]; // null: taken
    private long first;
    private long end;
    private long bytes;
    private long lastDropped = -1;

    HeldRequests(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    /** @param counter greater than all before */
    void add(long counter, Asked asked) {
        if (end - first == slots.length) {
            if (slots.length == MOST) {
                drop();
            } else {
                grow();
            }
        }
        counters[slot(end)] = counter;
        slots[slot(end)] = asked;
        end++;
        bytes += asked.bytes();
        while (bytes > mostBytes && end - first > 1) {
            drop();
        }
    }

    private void drop() {
        lastDropped = counters[slot(first)];
        remove(first);
    }

    private void remove(long at) {
        bytes -= slots[slot(at)].bytes();
        slots[slot(at)] = null;
        while (first < end && slots[slot(first)] == null) {
            first++;
        }
    }

    private void grow() {
        long[] moreCounters = new long[2 * slots.length];
        Asked[] moreSlots = new Asked[2 * slots.length];
        for (long at = first; at < end; at++) {
            moreCounters[(int) at & moreSlots.length - 1] = counters[slot(at)];
            moreSlots[(int) at & moreSlots.length - 1] = slots[slot(at)];
        }
        counters = moreCounters;
        slots = moreSlots;
    }

    private int slot(long at) {
        return (int) at & slots.length - 1;
    }

    /** Takes a request out; null when it is not here. */
    Asked take(long counter) {
        long at = find(counter);
        Asked asked = at < end ? slots[slot(at)] : null;
        if (asked == null || counters[slot(at)] != counter) {
            return null;
        }
        remove(at);
        return asked;
    }

    /** The first place whose counter is not lower. */
    private long find(long counter) {
        if (first == end || counters[slot(first)] >= counter) {
            return first;
        }
        long low = first + 1;
        long high = end;
        while (low < high) {
            long middle = low + high >>> 1;
            if (counters[slot(middle)] < counter) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Whether a request may have been here and was dropped. */
    boolean mayHaveDropped(long counter) {
        return counter <= lastDropped;
    }

    void clear() {
        Arrays.fill(slots, null);
        first = end;
        bytes = 0;
    }
}
