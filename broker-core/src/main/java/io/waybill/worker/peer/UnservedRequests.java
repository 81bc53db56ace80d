package io.waybill.worker.peer;

import java.util.TreeSet;

/**
 * The requests of one peer that were read and wait to be served, by position.
 *
 * <p><b>Threads.</b> Changed by the holder of the {@link io.waybill.worker.poll.PollPermit}; {@link #oldest} by any.
 */
public final class UnservedRequests {

    public static final long NONE = Long.MAX_VALUE;

    private final TreeSet<Long> places = new TreeSet<>();
    // Written by the permit's holder, read by the housekeeper.
    private volatile long oldest = NONE;

    public void add(long index) {
        places.add(index);
        oldest = places.first();
    }

    public void remove(long index) {
        places.remove(index);
        oldest = places.isEmpty() ? NONE : places.first();
    }

    boolean isEmpty() {
        return places.isEmpty();
    }

    /** Returns the lowest position; {@link #NONE} when nothing waits. */
    public long oldest() {
        return oldest;
    }
}
