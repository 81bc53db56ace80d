package io.waybill.tensor;

import io.waybill.tensor.segment.Leases;

/** Releases leases on the receiver's side, and notifies their senders. Thread-safe. */
@FunctionalInterface
public interface LeaseReturns {

    /**
     * Notifies the sender, once, after the last use of the lease's bytes. At most {@link Leases#MAX_OUTSTANDING} are
     * outstanding.
     */
    void released(int sender, long leaseId);
}
