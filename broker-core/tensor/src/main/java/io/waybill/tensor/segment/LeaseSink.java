package io.waybill.tensor.segment;

/** Receiver of the ids of leases that receivers have released. */
@FunctionalInterface
public interface LeaseSink {

    /** Called with a lease that the receiver claims to have released; not yet checked. */
    void released(int receiver, long leaseId);
}
