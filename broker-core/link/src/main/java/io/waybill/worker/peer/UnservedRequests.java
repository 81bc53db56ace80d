package io.waybill.worker.peer;

import java.util.TreeSet;

/**
 * The requests of one peer that were read and wait to be served, by position.
 *
 * <p><b>Threads.</b> Changed by the holder of the {@link io.waybill.worker.poll.PollPermit}; {@link #oldest} by any.
 */
public final class UnservedRequests {

    public static final long NONE = Long.MAX_VALUE;

    private final TreeSet<Long> positions = new TreeSet<>();
    // Written by the permit's holder, read by the housekeeper.
    private volatile long oldest = NONE;

    public void add(long index) {
        positions.add(index);
        oldest = positions.first();
    }

    public void remove(long index) {
        positions.remove(index);
        oldest = positions.isEmpty() ? NONE : positions.first();
    }

    boolean isEmpty() {
        return positions.isEmpty();
    }

    /** Returns the lowest position; {@link #NONE} when nothing waits. */
    public long oldest() {
        return oldest;
    }
}
