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

/** Outcome of a request with one candidate. */
sealed interface RunOutcome {

    /** Adds an unrecorded input of the handler to the outcome, unless it already has one; empty text for none. */
    RunOutcome afterReading(String input);

    /**
     * Response, which may be an error.
     *
     * @param unrecorded description of its handler's unrecorded input; empty if there was none
     */
    record Responded(ComparedResponse response, List<? extends RRef> references, String unrecorded)
            implements RunOutcome {

        @Override
        public Responded afterReading(String input) {
            return unrecorded.isEmpty() && !input.isEmpty() ? new Responded(response, references, input) : this;
        }
    }

    /**
     * Outcome without a response to compare.
     *
     * @param mayComeOfState whether the handler ran, and could have responded with another state
     */
    record Stopped(Verdict verdict, String reason, boolean mayComeOfState) implements RunOutcome {

        @Override
        public Stopped afterReading(String input) {
            return this;
        }
    }

    static Stopped failed(String reason) {
        return new Stopped(Verdict.FAILED, reason, false);
    }

    /** Creates the outcome of a handler with unrecorded behaviour. */
    static Stopped departed(String reason) {
        return new Stopped(Verdict.FAILED, reason, true);
    }

    static Stopped notReplayable(String reason) {
        return new Stopped(Verdict.NOT_REPLAYABLE, reason, false);
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
     * @param references references among the values
     */
    static Responded values(MessageType type, byte[] payload, List<Tensor> tensors, List<? extends RRef> references) {
        return new Responded(
                new ComparedResponse(type, payload, tensors, ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN),
                references,
                "");
    }
}
