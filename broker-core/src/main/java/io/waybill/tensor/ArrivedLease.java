package io.waybill.tensor;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The storages of one message that travelled under one lease. When the last of them is released, private copies of pages are dropped and
 * the sender is told: in this order, because the sender may write the next message there at once.
 *
 * <p><b>Threads.</b> Filled by the thread that decodes; thread-safe from then on.
 */
final class ArrivedLease {

    private final int sender;
    private final long id;
    private final LeaseReturns returns;
    private final AtomicInteger held;
    private final List<ArrivedStorage> storages = new ArrayList<>(1);
    /** One for the thread that decodes, until all storages are in. */
    private final AtomicInteger live = new AtomicInteger(1);

    /** @param held counts the leases that are not given back */
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

    /** One of its storages has been released for good, or the thread that decodes has added them all. */
    void oneDone() {
        if (live.decrementAndGet() == 0) {
            try {
                for (ArrivedStorage storage : storages) {
                    storage.end();
                }
            } finally { // or the sender would never have its region again
                held.decrementAndGet();
                returns.released(sender, id);
            }
        }
    }
}
