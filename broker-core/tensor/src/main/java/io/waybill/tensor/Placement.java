package io.waybill.tensor;

import io.waybill.tensor.memory.Pages;
import io.waybill.tensor.segment.Lease;
import io.waybill.tensor.segment.Region;
import io.waybill.tensor.segment.SegmentPool;
import io.waybill.tensor.segment.SegmentStorage;
import java.util.List;

/**
 * Decides where each storage of a message goes, opens the leases, and then, when there is room for all, copies what
 * must be copied to a segment. Belongs to its plan's thread.
 */
final class Placement {

    /**
     * Min size of a storage that gets a region alone. Smaller storages of a message are put into one region together.
     */
    private static final long ALONE_FROM_BYTES = 256 << 10;
    /**
     * Max number of leases of a message, so that one message with many storages does not use up a receiver's leases.
     */
    private static final int MAX_LEASES = 16;

    private final SegmentPool pool;
    private final List<Outgoing> outgoing;
    private final List<Lease> leases;

    /** Creates the placement of the storages that the list will have. Leases are added to {@code leases}. */
    Placement(SegmentPool pool, List<Outgoing> outgoing, List<Lease> leases) {
        this.pool = pool;
        this.outgoing = outgoing;
        this.leases = leases;
    }

    /** Places the storages. On an exception the opened leases stay in the list. */
    void place(int toWorker) {
        long inlined = 0;
        long together = 0;
        long alone = 0;
        int leased = 0;
        for (int i = 0; i < outgoing.size(); i++) {
            Outgoing next = outgoing.get(i);
            if (next.isShared()) {
                leased++;
                continue;
            }
            long aligned = TensorSection.align(next.size);
            next.inline = next.size <= pool.config().inlineBytes()
                    && inlined + aligned <= pool.config().inlineTotalBytes();
            if (next.inline) {
                inlined += aligned;
            } else if (isTogether(next)) {
                together += aligned;
            } else {
                leased++;
                alone += next.isIn(pool) ? 0 : Pages.roundUp(next.size);
            }
        }
        if (together == 0 && leased == 0) {
            return;
        }
        pool.requireEverRoom(Pages.roundUp(together) + alone);
        pool.leases().open(toWorker, Math.min(MAX_LEASES, leased + (together > 0 ? 1 : 0)), leases);
        if (together > 0) {
            placeTogether(together);
        }
        placeAlone(together > 0 ? 1 : 0);
        for (int i = 0; i < outgoing.size(); i++) {
            Outgoing next = outgoing.get(i);
            if (next.isInSegment() && !next.isIn(pool)) {
                next.copyTo(next.region.address() + next.offsetInRegion, pool.memory());
            }
        }
    }

    private boolean isTogether(Outgoing next) {
        return next.isInSegment() && next.size < ALONE_FROM_BYTES && !next.isIn(pool);
    }

    private void placeTogether(long bytes) {
        Lease lease = leases.get(0);
        Region region = pool.take(bytes);
        lease.add(region);
        long offset = 0;
        for (int i = 0; i < outgoing.size(); i++) {
            Outgoing next = outgoing.get(i);
            if (isTogether(next)) {
                position(next, lease, region, offset);
                offset += TensorSection.align(next.size);
            }
        }
    }

    private void placeAlone(int firstLease) {
        int number = firstLease;
        for (int i = 0; i < outgoing.size(); i++) {
            Outgoing next = outgoing.get(i);
            if (next.inline || isTogether(next)) {
                continue;
            }
            Lease lease = leases.get(Math.min(number++, leases.size() - 1));
            if (next.isShared()) {
                next.host.retain();
                lease.add(next.host);
                next.lease = lease;
            } else if (next.isIn(pool)) {
                Region region = ((SegmentStorage) next.host).lease();
                lease.add(region);
                position(next, lease, region, 0);
            } else {
                Region region = pool.take(next.size);
                lease.add(region);
                position(next, lease, region, 0);
            }
        }
    }

    private static void position(Outgoing next, Lease lease, Region region, long offset) {
        next.lease = lease;
        next.region = region;
        next.offsetInRegion = offset;
    }
}
