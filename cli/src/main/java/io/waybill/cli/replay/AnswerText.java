package io.waybill.cli.replay;

import io.waybill.api.Value;
import io.waybill.cli.show.Printable;
import io.waybill.query.ValueLine;
import io.waybill.replay.compare.ComparedResponse;
import java.util.Arrays;
import java.util.Optional;

/** Shows an answer as one line of bounded length, safe for a terminal. Stateless. */
final class AnswerText {

    private static final int MOST_BYTES = 32;

    private AnswerText() {}

    static String of(Optional<ComparedResponse> answer, int most) {
        return answer.map(present -> of(present, most)).orElse("no answer");
    }

    private static String of(ComparedResponse answer, int most) {
        ValueLine line = new ValueLine(most);
        if (answer.isError()) {
            line.add("error " + answer.errorCode() + ": ").add(Printable.oneLine(answer.errorText()));
            return Printable.of(line.toString());
        }
        Optional<Value> value = answer.value();
        if (value.isPresent()) {
            line.value(value.get());
        } else {
            byte[] payload = answer.payload();
            line.bytes(Arrays.copyOf(payload, Math.min(payload.length, MOST_BYTES)), payload.length);
            answer.tensors().forEach(tensor -> line.add(", ").add(ValueLine.kind(tensor)));
        }
        return Printable.of(line.toString());
    }
}
