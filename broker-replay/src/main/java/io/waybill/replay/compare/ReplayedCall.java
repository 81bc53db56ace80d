package io.waybill.replay.compare;

import io.waybill.api.WorkerInfo;
import io.waybill.replay.recording.RecordedCall;
import java.util.List;
import java.util.Optional;

/**
 * Recorded call with its results in a replay.
 *
 * @param worker worker whose handlers ran it
 * @param operation operation of a call by name; otherwise the type's name
 * @param recorded recorded response; empty if there is none, or its tensors were not kept
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
     * @param reason difference of the responses, or reason for a missing one; for equal responses the handler's
     *     unrecorded input, empty if there was none
     * @param replayed replayed response; empty if there is none
     * @param beganNs start of the run, by the wall clock in ns since 1970; 0 if it did not run, or did not return
     * @param tookNs duration of the run
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

        /** Returns the same result with the start and duration of its run. */
        public Result ran(long atNs, long forNs) {
            return new Result(candidate, verdict, reason, replayed, atNs, forNs);
        }
    }
}
