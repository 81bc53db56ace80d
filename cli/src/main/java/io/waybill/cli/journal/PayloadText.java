package io.waybill.cli.journal;

import io.waybill.cli.show.Printable;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.ValueLine;

/** Formats the content of a record as one line of bounded length, safe for a terminal. Stateless. */
public final class PayloadText {

    private PayloadText() {}

    /** Formats a payload in about {@code max} characters. */
    public static String of(Payload payload, int max) {
        ValueLine line = new ValueLine(max);
        if (payload.call().isPresent()) {
            line.call(payload.call().get());
        } else if (payload.result().isPresent()) {
            line.value(payload.result().get());
        } else if (payload.text().isPresent()) {
            line.add(Printable.oneLine(payload.text().get()));
        } else {
            line.bytes(payload.start(), payload.bytes());
        }
        return Printable.of(line.toString());
    }
}
