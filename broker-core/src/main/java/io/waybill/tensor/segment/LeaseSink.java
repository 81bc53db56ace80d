package io.waybill.tensor.segment;

/** Takes what receivers say they are done with. */
@FunctionalInterface
public interface LeaseSink {

    /** The receiver says that it has released a lease; a claim, not yet checked. */
    void released(int receiver, long leaseId);
}
