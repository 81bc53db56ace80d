package io.waybill.replay.compare;

import io.waybill.api.WorkerInfo;
import io.waybill.replay.recording.RecordedCall;
import java.util.List;
import java.util.Optional;

/**
 * A recorded call, and what became of it in a replay.
 *
 * @param worker whose handlers ran it
 * @param operation of a call by name; the type's name otherwise
 * @param recorded empty when there is none, or its tensors were not kept
 * @param results one for each candidate, in their order
 */
public record ReplayedCall(
        RecordedCall call,
        WorkerInfo worker,
        String operation,
        Optional<ComparedResponse> recorded,
        List<Result> results) {

    /**
     * Result of one candidate.
     *
     * @param candidate the name of the candidate bundle's file; {@code installed} for the worker's own bundles
     * @param reason how the responses differ, or why there is no response to compare; of equal responses the input that the handler read
     * and that is not on record, and empty when there was none
     * @param replayed empty when there is none
     * @param beganNs when it began to run, by the wall clock in ns since 1970; 0 when it did not run, or did not return
     * @param tookNs how long it ran
     */
    public record Result(
            String candidate,
            Verdict verdict,
            String reason,
            Optional<ComparedResponse> replayed,
            long beganNs,
            long tookNs) {

        /** Creates the result of a candidate that did not run. */
        public Result(String candidate, Verdict verdict, String reason, Optional<ComparedResponse> replayed) {
            this(candidate, verdict, reason, replayed, 0, 0);
        }

        /** Returns the same result of a run at this time. */
        public Result ran(long atNs, long forNs) {
            return new Result(candidate, verdict, reason, replayed, atNs, forNs);
        }
    }
}
