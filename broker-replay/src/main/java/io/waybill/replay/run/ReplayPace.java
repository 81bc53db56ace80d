package io.waybill.replay.run;

import io.waybill.replay.recording.RecordedCall;

/** Schedule of requests. Called by the thread that runs handlers. */
@FunctionalInterface
public interface ReplayPace {

    /** Runs requests as fast as possible. */
    ReplayPace FASTEST = call -> {};

    /** Waits until this call may run. */
    void await(RecordedCall call) throws InterruptedException;
}
