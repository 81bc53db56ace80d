package io.waybill.tensor;

import io.waybill.tensor.segment.Leases;

/** How a receiver tells a sender that it is done with a lease. Thread-safe. */
@FunctionalInterface
public interface LeaseReturns {

    /** Tells the sender, once, after the last use of the lease's bytes. At most {@link Leases#MAX_OUTSTANDING} are under way. */
    void released(int sender, long leaseId);
}
