package io.waybill.cli.replay;

import io.waybill.api.Value;
import io.waybill.cli.show.Printable;
import io.waybill.query.stored.ValueLine;
import io.waybill.replay.compare.ComparedResponse;
import java.util.Arrays;
import java.util.Optional;

/** Shows a response as one line of bounded length, safe for a terminal. Stateless. */
final class ResponseText {

    private static final int MAX_BYTES = 32;

    private ResponseText() {}

    static String of(Optional<ComparedResponse> response, int max) {
        return response.map(present -> of(present, max)).orElse("no response");
    }

    private static String of(ComparedResponse response, int max) {
        ValueLine line = new ValueLine(max);
        if (response.isError()) {
            line.add("error " + response.errorCode() + ": ").add(Printable.oneLine(response.errorText()));
            return Printable.of(line.toString());
        }
        Optional<Value> value = response.value();
        if (value.isPresent()) {
            line.value(value.get());
        } else {
            byte[] payload = response.payload();
            line.bytes(Arrays.copyOf(payload, Math.min(payload.length, MAX_BYTES)), payload.length);
            response.tensors().forEach(tensor -> line.add(", ").add(ValueLine.kind(tensor)));
        }
        return Printable.of(line.toString());
    }
}
