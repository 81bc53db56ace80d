package io.waybill.tensor.segment;

import io.waybill.api.tensor.Storage;
import java.util.ArrayList;
import java.util.List;

/**
 * Set of regions, and of storages on devices, that one receiver may use until it releases them.
 *
 * <p>A receiver can release them, or end, before the sender knows that its message is in the journal: then the lease
 * ends when the sender knows this, because until then it may still be writing.
 *
 * <p><b>Threads.</b> Guarded by {@link Leases}.
 */
public final class Lease {

    enum State {
        /** The message is being written. */
        PLANNED,
        /** The message is in the journal. */
        STANDING,
        /** The receiver released it before the message was known to be in the journal. */
        RETURNED_EARLY,
        /** The receiver ended before the message was known to be in the journal. */
        ABANDONED_EARLY,
        ENDED
    }

    private final long id;
    private final int receiver;
    private final StorageReleases releases;
    private final List<Region> regions = new ArrayList<>(1);
    private final List<Storage> shared = new ArrayList<>(0); // on devices
    private State state = State.PLANNED;

    Lease(long id, int receiver, StorageReleases releases) {
        this.id = id;
        this.receiver = receiver;
        this.releases = releases;
    }

    public long id() {
        return id;
    }

    int receiver() {
        return receiver;
    }

    /** Acquires the caller's hold of a region. Only while the message is planned, by its thread. */
    public void add(Region region) {
        regions.add(region);
    }

    /**
     * Acquires the caller's count of a storage on a device that the receiver shares. Otherwise like
     * {@link #add(Region)}.
     */
    public void add(Storage onDevice) {
        shared.add(onDevice);
    }

    /** Returns whether the receiver shares device memory. Not while the message is planned. */
    boolean isShared() {
        return !shared.isEmpty();
    }

    /** Returns its size, in whole pages. Not while the message is planned. */
    long bytes() {
        long bytes = 0;
        for (Region region : regions) {
            bytes += region.length();
        }
        return bytes;
    }

    /**
     * Returns whether another process uses regions of it, for a receiver that has ended. Not while the message is
     * planned.
     */
    boolean isUsedStill() {
        for (Region region : regions) {
            if (region.segment().isLocked(region.offset(), region.length())) {
                return true;
            }
        }
        return false;
    }

    State state() {
        return state;
    }

    void state(State next) {
        state = next;
    }

    /** Releases its regions, and later the storages on devices. */
    void end() {
        state = State.ENDED;
        for (Region region : regions) {
            region.letGo();
        }
        regions.clear();
        shared.forEach(releases::later);
        shared.clear();
    }

    /**
     * Ends without releasing the storages on devices: the receiver may still use them, for an unknown time. Returns
     * their number.
     */
    int abandon() {
        int count = shared.size();
        shared.clear();
        end();
        return count;
    }
}
