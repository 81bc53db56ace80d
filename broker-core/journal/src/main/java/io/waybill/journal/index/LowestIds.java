package io.waybill.journal.index;

import io.waybill.api.MessageId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.collections.Long2LongHashMap;

/**
 * Lowest id of each sender in each file of a queue: shows which index entries to remove after files were removed.
 * Messages of a sender below the lowest id in all remaining files were in removed files. One thread.
 */
final class LowestIds {

    /** Marks a sender without a message in a file. */
    static final long NONE = -1;

    /** Lower bound of one sender's ids; {@link #NONE} when nothing of it remains. */
    record Bound(int sender, long id) {}

    private final NavigableMap<Integer, Long2LongHashMap> bySender = new TreeMap<>();
    private int lastFile = Integer.MIN_VALUE;
    private Long2LongHashMap last;

    /** Notes a message. Returns whether its id is the lowest of its sender in the file so far. */
    boolean add(int file, long id) {
        if (file != lastFile) {
            last = bySender.computeIfAbsent(file, number -> new Long2LongHashMap(NONE));
            lastFile = file;
        }
        long sender = MessageId.worker(id);
        long before = last.get(sender);
        boolean isLowest = before == NONE || MessageId.counter(id) < MessageId.counter(before);
        if (isLowest) {
            last.put(sender, id);
        }
        return isLowest;
    }

    /** Returns the files below this number, with their senders. */
    Map<Integer, Long2LongHashMap> below(int oldest) {
        return bySender.headMap(oldest, false);
    }

    /** Returns, for each sender in files below this number, the first id that remains. */
    List<Bound> bounds(int oldest) {
        Int2ObjectHashMap<Bound> bounds = new Int2ObjectHashMap<>();
        for (Long2LongHashMap file : below(oldest).values()) {
            file.forEachLong((sender, id) -> bounds.put((int) sender, new Bound((int) sender, NONE)));
        }
        for (Long2LongHashMap file : bySender.tailMap(oldest, true).values()) {
            file.forEachLong((sender, id) -> {
                Bound known = bounds.get((int) sender);
                if (known != null && (known.id() == NONE || MessageId.counter(id) < MessageId.counter(known.id()))) {
                    bounds.put((int) sender, new Bound((int) sender, id));
                }
            });
        }
        return new ArrayList<>(bounds.values());
    }

    void removeBelow(int oldest) {
        below(oldest).clear();
        lastFile = Integer.MIN_VALUE;
        last = null;
    }
}
