package io.waybill.tensor;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Storages of one message that were sent under one lease. When the last of them is released, private copies of pages
 * are dropped and then the sender is notified: in this order, because the sender may write the next message there at
 * once.
 *
 * <p><b>Threads.</b> Filled by the thread that decodes; thread-safe from then on.
 */
final class ArrivedLease {

    private final int sender;
    private final long id;
    private final LeaseReturns returns;
    private final AtomicInteger held;
    private final List<ArrivedStorage> storages = new ArrayList<>(1);
    /** Count of live storages, plus one for the thread that decodes, until all storages are added. */
    private final AtomicInteger live = new AtomicInteger(1);

    /**
     * Creates a lease.
     *
     * @param held counts the leases that are not released
     */
    ArrivedLease(int sender, long id, LeaseReturns returns, AtomicInteger held) {
        this.sender = sender;
        this.id = id;
        this.returns = returns;
        this.held = held;
        held.incrementAndGet();
    }

    long id() {
        return id;
    }

    void add(ArrivedStorage storage) {
        storages.add(storage);
        live.incrementAndGet();
    }

    /** Counts a storage that shares the sender's device memory. */
    void addShared() {
        live.incrementAndGet();
    }

    /** Notes that a storage has been released finally, or that all storages were added. */
    void oneDone() {
        if (live.decrementAndGet() == 0) {
            try {
                for (ArrivedStorage storage : storages) {
                    storage.end();
                }
            } finally { // otherwise the sender would never have its region again
                held.decrementAndGet();
                returns.released(sender, id);
            }
        }
    }
}
