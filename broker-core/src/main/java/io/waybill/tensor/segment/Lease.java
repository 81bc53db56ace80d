package io.waybill.tensor.segment;

import java.util.ArrayList;
import java.util.List;

/**
 * Regions that one receiver may read until it releases them.
 *
 * <p>A receiver can release them, or end, before the sender knows that its message is in the journal: then the lease
 * ends when the sender learns it, because until then it may still be writing.
 *
 * <p><b>Threads.</b> Guarded by {@link Leases}.
 */
public final class Lease {

    enum State {
        /** The message is being written. */
        PLANNED,
        /** The message is in the journal. */
        STANDING,
        /** The receiver was done before the message was known to be in the journal. */
        RETURNED_EARLY,
        ENDED
    }

    private final long id;
    private final int receiver;
    private final List<Region> regions = new ArrayList<>(1);
    private State state = State.PLANNED;

    Lease(long id, int receiver) {
        this.id = id;
        this.receiver = receiver;
    }

    public long id() {
        return id;
    }

    int receiver() {
        return receiver;
    }

    /** Takes over the caller's hold of a region. Only while the message is planned, by its thread. */
    public void add(Region region) {
        regions.add(region);
    }

    /** Whole pages. Not while the message is planned. */
    long bytes() {
        long bytes = 0;
        for (Region region : regions) {
            bytes += region.length();
        }
        return bytes;
    }

    State state() {
        return state;
    }

    void state(State next) {
        state = next;
    }

    /** Lets go of its regions. */
    void end() {
        state = State.ENDED;
        for (Region region : regions) {
            region.letGo();
        }
        regions.clear();
    }
}
