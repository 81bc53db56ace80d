package io.waybill.replay.run;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Tensor;
import io.waybill.handling.Failure;
import io.waybill.replay.Answer;
import io.waybill.replay.Verdict;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** What the handlers of one contender made of a request. */
sealed interface Outcome {

    /** An answer, which may be an error. */
    record Answered(Answer answer, List<? extends RRef> references) implements Outcome {}

    /** There is no answer to compare. */
    record Stopped(Verdict verdict, String reason) implements Outcome {}

    static Stopped failed(String reason) {
        return new Stopped(Verdict.FAILED, reason);
    }

    static Stopped notReplayable(String reason) {
        return new Stopped(Verdict.NOT_REPLAYABLE, reason);
    }

    static Answered error(Failure failure) {
        return error(failure.kind(), failure.code(), failure.text());
    }

    static Answered error(ErrorKind kind, ErrorCode code, String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        byte[] payload = Arrays.copyOf(utf8, Math.min(utf8.length, Failure.MOST_TEXT_BYTES));
        return new Answered(new Answer(MessageType.EXCEPTION, payload, List.of(), kind, code), List.of());
    }

    /** @param references among the values */
    static Answered values(MessageType type, byte[] payload, List<Tensor> tensors, List<? extends RRef> references) {
        return new Answered(new Answer(type, payload, tensors, ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN), references);
    }
}
