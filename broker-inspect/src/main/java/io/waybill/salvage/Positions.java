package io.waybill.salvage;

import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Where the positions in one queue, as its readers noted them, are in its copy: at the first record that was copied of those from there on.
 * One thread at a time.
 */
final class Positions {

    private static final long UNKNOWN = -1;

    private final NavigableMap<Long, Long> open = new TreeMap<>();
    private final NavigableMap<Long, Long> found = new TreeMap<>();
    private long behindLast = UNKNOWN;

    /** Asks for a position. Before the first record is copied. */
    void want(long position) {
        if (position >= 0) {
            open.put(position, UNKNOWN);
        }
    }

    /** A record was copied; their order is the same in both. */
    void copied(long from, long to) {
        behindLast = to + 1;
        while (!open.isEmpty() && open.firstKey() <= from) {
            found.put(open.pollFirstEntry().getKey(), to);
        }
    }

    /** Where a position is that was asked for; -1 when there is no place for it. */
    long of(long position) {
        return found.getOrDefault(position, open.containsKey(position) ? behindLast : UNKNOWN);
    }
}
