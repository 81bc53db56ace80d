package io.waybill.salvage;

import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Maps positions of readers in one queue to its copy: to the first copied record from the position on. One thread at a
 * time.
 */
final class Positions {

    private static final long UNKNOWN = -1;

    private final NavigableMap<Long, Long> open = new TreeMap<>();
    private final NavigableMap<Long, Long> found = new TreeMap<>();
    private long behindLast = UNKNOWN;

    /** Requests the mapping of a position. Before the first record is copied. */
    void want(long position) {
        if (position >= 0) {
            open.put(position, UNKNOWN);
        }
    }

    /** Records the copy of a record; the order is the same in both queues. */
    void copied(long from, long to) {
        behindLast = to + 1;
        while (!open.isEmpty() && open.firstKey() <= from) {
            found.put(open.pollFirstEntry().getKey(), to);
        }
    }

    /** Returns the mapped position; -1 if there is none. */
    long of(long position) {
        return found.getOrDefault(position, open.containsKey(position) ? behindLast : UNKNOWN);
    }
}
