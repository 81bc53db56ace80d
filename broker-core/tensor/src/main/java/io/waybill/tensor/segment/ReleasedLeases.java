package io.waybill.tensor.segment;

/** Source of the leases that a receiver has released, for their sender. Polled by one thread at a time. */
@FunctionalInterface
public interface ReleasedLeases {

    /**
     * Passes the leases that this receiver has released since the last time to the sink, in the receiver's order. Cheap
     * when there are none.
     */
    void poll(int receiver, LeaseSink sink);

    /** Returns how an error names this receiver. */
    default String name(int receiver) {
        return Integer.toString(receiver);
    }
}
