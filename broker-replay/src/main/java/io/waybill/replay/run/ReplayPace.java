package io.waybill.replay.run;

import io.waybill.replay.recording.RecordedCall;

/** Decides when the next request is run. Called by the thread that runs handlers. */
@FunctionalInterface
public interface ReplayPace {

    /** Runs requests as fast as possible. */
    ReplayPace FASTEST = call -> {};

    /** Returns when this call may be run. */
    void await(RecordedCall call) throws InterruptedException;
}
