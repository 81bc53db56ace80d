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
     * What the handlers of one candidate made of it.
     *
     * @param candidate the name of the candidate bundle's file; {@code installed} for what the worker had
     * @param reason empty when it is the same; otherwise where they part, or why there is no response to compare
     * @param replayed empty when there is none
     */
    public record Result(String candidate, Verdict verdict, String reason, Optional<ComparedResponse> replayed) {}
}
