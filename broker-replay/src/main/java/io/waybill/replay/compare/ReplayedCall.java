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
     * @param reason empty when the responses are equal; otherwise their difference, or why there is no response to
     * compare
     * @param replayed empty when there is none
     */
    public record Result(String candidate, Verdict verdict, String reason, Optional<ComparedResponse> replayed) {}
}
