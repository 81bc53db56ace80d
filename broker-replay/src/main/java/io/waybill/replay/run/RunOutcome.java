package io.waybill.replay.run;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.Failure;
import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.compare.Verdict;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Outcome of a request in one candidate. */
sealed interface RunOutcome {

    /**
     * A response, which may be an error.
     *
     * @param unrecorded the input that its handler read and that is not on record, in words; empty when there was none
     */
    record Responded(ComparedResponse response, List<? extends RRef> references, String unrecorded)
            implements RunOutcome {

        /** Returns the same response of a handler that also read this. */
        Responded afterReading(String input) {
            return new Responded(response, references, input);
        }
    }

    /** Outcome without a response to compare. */
    record Stopped(Verdict verdict, String reason) implements RunOutcome {}

    static Stopped failed(String reason) {
        return new Stopped(Verdict.FAILED, reason);
    }

    static Stopped notReplayable(String reason) {
        return new Stopped(Verdict.NOT_REPLAYABLE, reason);
    }

    static Responded error(Failure failure) {
        byte[] utf8 = failure.text().getBytes(StandardCharsets.UTF_8);
        byte[] payload = Arrays.copyOf(utf8, Math.min(utf8.length, Failure.MAX_TEXT_BYTES));
        return new Responded(
                new ComparedResponse(MessageType.EXCEPTION, payload, List.of(), failure.kind(), failure.code()),
                List.of(),
                "");
    }

    /**
     * Creates a response of values.
     *
     * @param references among the values
     */
    static Responded values(MessageType type, byte[] payload, List<Tensor> tensors, List<? extends RRef> references) {
        return new Responded(
                new ComparedResponse(type, payload, tensors, ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN),
                references,
                "");
    }
}
