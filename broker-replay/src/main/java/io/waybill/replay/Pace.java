package io.waybill.replay;

/** Says when the next request is run. Called by the thread that runs handlers. */
@FunctionalInterface
public interface Pace {

    /** As fast as possible. */
    Pace FASTEST = call -> {};

    /** Returns when this call may be run. */
    void await(RecordedCall call) throws InterruptedException;
}
