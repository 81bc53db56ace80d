package io.waybill.tensor.segment;

/** Where a sender learns which of its leases a receiver has given back. Polled by one thread at a time. */
@FunctionalInterface
public interface ReleasedLeases {

    /** Passes on what this receiver has released since the last time, in its order. Cheap when there is nothing. */
    void poll(int receiver, LeaseSink sink);
}
