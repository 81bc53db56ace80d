package io.waybill.cli.journal;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ShownTime;
import io.waybill.dispatch.HandlerKey;
import io.waybill.home.note.Responders.Responder;
import io.waybill.query.StoredCall;
import io.waybill.query.StoredMessages;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.stored.ValueLine;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.Optional;

/** Prints calls on arrival, one per line. */
final class CallLines {

    private static final String FORMAT = "%-32s  %-14s  %-12s  %-12s  %-17s  %8s  %-24s  %9s  %-28s  %s%n";

    private static final int MAX_CONTROL_CHARS = 400;

    private final StoredMessages journals;
    private final PrintWriter out;
    private final boolean isJson;
    private boolean any;
    private boolean begun;

    CallLines(StoredMessages journals, PrintWriter out, boolean isJson) {
        this.journals = journals;
        this.out = out;
        this.isJson = isJson;
    }

    /** Reports that there was no call: an empty list may mean a mistake in the selection. */
    void end(PrintWriter err) {
        if (!any) {
            err.println("No call on record matches.");
            err.flush();
        }
    }

    void accept(StoredCall call) {
        any = true;
        StoredRecord request = call.request();
        if (isJson) {
            RecordJson records = new RecordJson(journals);
            Json.printLine(out, json -> {
                json.writeStartObject();
                records.fields(request, json);
                if (call.operation().isPresent()) {
                    json.writeStringField("operation", call.operation().get());
                }
                CallJson.outcome(call, json);
                json.writeEndObject();
            });
            return;
        }
        if (!begun) {
            begun = true;
            out.printf(
                    Locale.ROOT,
                    FORMAT,
                    "SENT",
                    "ID",
                    "FROM",
                    "TO",
                    "TYPE",
                    "BYTES",
                    "OUTCOME",
                    "TOOK",
                    "BUNDLE",
                    "OPERATION");
        }
        out.printf(
                Locale.ROOT,
                FORMAT,
                ShownTime.of(request.sentNs()),
                MessageId.text(request.id()),
                journals.nameOf(request.from()),
                journals.nameOf(request.to()),
                request.type(),
                request.payloadBytes() + request.sectionBytes(),
                call.outcomeText(),
                call.tookNs().map(ShownTime::took).orElse("-"),
                call.notes()
                        .responder()
                        .map(Responder::toString)
                        .map(Printable::oneLine)
                        .orElse("-"),
                Printable.oneLine(called(call)));
    }

    /**
     * Returns the called operation; for a call to a node itself also its arguments and its change, which are of
     * interest in a list.
     */
    private String called(StoredCall call) {
        if (call.request().type() != MessageType.CONTROL_CALL) {
            return call.operation().orElse("");
        }
        try {
            Optional<String> arguments = journals.payload(call.request())
                    .flatMap(Payload::call)
                    .map(found -> HandlerKey.CONTROL_PREFIX + new ValueLine(MAX_CONTROL_CHARS).call(found));
            Optional<StoredRecord> response = call.response();
            Optional<Payload> result = response.isPresent() ? journals.payload(response.get()) : Optional.empty();
            return arguments.or(call::operation).orElse("")
                    + result.flatMap(Payload::result).map(CallLines::changed).orElse("");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns name and version of the bundle that a control call changed; empty if it changed none. */
    private static String changed(Value result) {
        if (!(result instanceof Value.Dict fields)
                || !(fields.entries().get(Value.of("bundle")) instanceof Value.Dict bundle)) {
            return "";
        }
        return " -> " + text(bundle, "name") + " " + text(bundle, "version");
    }

    private static String text(Value.Dict fields, String name) {
        return fields.entries().get(Value.of(name)) instanceof Value.Text text ? text.value() : "?";
    }
}
