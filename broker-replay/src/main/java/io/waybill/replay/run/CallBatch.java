package io.waybill.replay.run;

import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.ReplayedCall.Result;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.state.ScheduledCall;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Batch of calls that is passed between threads. Belongs to one thread at a time.
 *
 * @param replayed results of the first calls
 */
record CallBatch(List<CallToReplay> calls, List<ReplayedCall> replayed) {

    CallBatch(List<CallToReplay> calls) {
        this(calls, new ArrayList<>(calls.size()));
    }

    boolean isDone() {
        return replayed.size() == calls.size();
    }

    /** Returns the first call without a result. */
    CallToReplay current() {
        return calls.get(replayed.size());
    }

    /**
     * A recorded call before its handlers ran. Belongs to one thread at a time.
     *
     * @param operation operation of a call by name; otherwise the type's name
     * @param recorded the response on record; empty if there is none to compare, or its tensors were not read yet
     * @param unfit why it can't be replayed; empty if it can
     * @param doubt why its response may not be its handler's; empty if it is
     * @param results results of the candidates that ran it so far
     */
    record CallToReplay(
            ScheduledCall scheduled,
            String operation,
            Optional<ComparedResponse> recorded,
            String unfit,
            String doubt,
            List<Result> results) {

        CallToReplay(
                ScheduledCall scheduled,
                String operation,
                Optional<ComparedResponse> recorded,
                String unfit,
                String doubt) {
            this(scheduled, operation, recorded, unfit, doubt, new ArrayList<>(2));
        }

        RecordedCall call() {
            return scheduled.call();
        }
    }
}
