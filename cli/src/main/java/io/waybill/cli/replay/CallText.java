package io.waybill.cli.replay;

import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.cli.journal.PayloadText;
import io.waybill.cli.replay.ShownCall.ShownResult;
import io.waybill.cli.show.Printable;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.ValueLine;
import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.LongFunction;

/** Formats replayed calls. For one thread. */
final class CallText {

    /** Max characters of arguments and responses. */
    static final int MAX_CHARS = 400;

    private static final int MAX_SHOWN_BYTES = 32;

    private final IntFunction<String> names;
    private final LongFunction<String> again;
    private final MessageBuffer buffer = new MessageBuffer();

    /**
     * @param names of workers, by their ids
     * @param again function from an id to the command that replays the call
     */
    CallText(IntFunction<String> names, LongFunction<String> again) {
        this.names = names;
        this.again = again;
    }

    ShownCall read(ReplayedCall call) {
        RecordView request = call.call().request().in(buffer);
        Payload payload = Payload.of(request);
        List<ShownResult> results = call.results().stream()
                .map(result -> new ShownResult(
                        result.candidate(),
                        result.verdict(),
                        text(result.replayed()),
                        Printable.oneLine(result.reason())))
                .toList();
        return new ShownCall(
                MessageId.text(call.call().id()),
                names.apply(request.from()),
                call.worker().name(),
                call.operation(),
                text(request, payload),
                text(call.recorded()),
                results,
                again.apply(call.call().id()));
    }

    private static String text(RecordView request, Payload payload) {
        String text = PayloadText.of(payload, MAX_CHARS);
        return payload.call().isPresent() ? text : request.type() + " with " + text;
    }

    private static String text(Optional<ComparedResponse> response) {
        return response.map(present -> text(present)).orElse("no response");
    }

    /** Shows a response as one line of bounded length, safe for a terminal. */
    private static String text(ComparedResponse response) {
        ValueLine line = new ValueLine(MAX_CHARS);
        if (response.isError()) {
            line.add("error " + response.errorCode() + ": ").add(Printable.oneLine(response.errorText()));
            return Printable.of(line.toString());
        }
        Optional<Value> value = response.value();
        if (value.isPresent()) {
            line.value(value.get());
        } else {
            byte[] payload = response.payload();
            line.bytes(Arrays.copyOf(payload, Math.min(payload.length, MAX_SHOWN_BYTES)), payload.length);
            response.tensors().forEach(tensor -> line.add(", ").add(ValueLine.kind(tensor)));
        }
        return Printable.of(line.toString());
    }
}
