package io.waybill.cli.replay;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.wire.MessageBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Makes calls of worker 3, app, to worker 4, ps0, as a replay tells them. Stateless. */
final class ReplayedCalls {

    static final WorkerInfo APP = new WorkerInfo(3, "app");
    static final WorkerInfo PS0 = new WorkerInfo(4, "ps0");

    private ReplayedCalls() {}

    /** {@code text.count} of a text, responded to with a number of words on record. */
    static ReplayedCall count(long counter, String text, long words, ReplayedCall.Result... results) {
        return new ReplayedCall(request(counter, text), PS0, "text.count", Optional.of(words(words)), List.of(results));
    }

    /** The same without a response on record. */
    static ReplayedCall unanswered(long counter, String text, ReplayedCall.Result... results) {
        return new ReplayedCall(request(counter, text), PS0, "text.count", Optional.empty(), List.of(results));
    }

    private static RecordedCall request(long counter, String text) {
        ValueEncoder encoder = new ValueEncoder();
        new Invocation("text.count", List.of(), Map.of("text", Value.of(text))).encode(encoder);
        byte[] payload = encoder.toBytes();
        long id = MessageId.of(APP.id(), counter);
        MessageBuffer buffer = new MessageBuffer()
                .begin(MessageType.NAMED_CALL, id, APP.id(), PS0.id(), payload.length, 0)
                .payload(payload, 0, payload.length);
        buffer.seal(counter);
        byte[] record = new byte[buffer.length()];
        buffer.memory().getBytes(0, record);
        return new RecordedCall(
                id, new RecordedMessage(APP, JournalQueue.REQUESTS, "20261120-08.cq4", record), Optional.empty());
    }

    static ReplayedCall.Result same(String candidate, long words) {
        return new ReplayedCall.Result(candidate, Verdict.SAME, "", Optional.of(words(words)));
    }

    static ReplayedCall.Result different(String candidate, long words, String reason) {
        return new ReplayedCall.Result(candidate, Verdict.DIFFERENT, reason, Optional.of(words(words)));
    }

    static ReplayedCall.Result failed(String candidate, String text, String reason) {
        ComparedResponse error = new ComparedResponse(
                MessageType.EXCEPTION,
                text.getBytes(StandardCharsets.UTF_8),
                List.of(),
                ErrorKind.UNKNOWN_ERROR,
                ErrorCode.HANDLER_FAILED);
        return new ReplayedCall.Result(candidate, Verdict.FAILED, reason, Optional.of(error));
    }

    static ReplayedCall.Result notReplayable(String candidate, String reason) {
        return new ReplayedCall.Result(candidate, Verdict.NOT_REPLAYABLE, reason, Optional.empty());
    }

    private static ComparedResponse words(long words) {
        byte[] payload = new ValueEncoder()
                .value(new Value.Dict(Map.of(Value.of("words"), Value.of(words))))
                .toBytes();
        return new ComparedResponse(
                MessageType.NAMED_RET, payload, List.of(), ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN);
    }
}
