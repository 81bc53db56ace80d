package io.waybill.cli.journal;

import io.waybill.api.MessageId;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ShownTime;
import io.waybill.query.HomeJournals;
import io.waybill.query.StoredCall;
import io.waybill.query.stored.StoredRecord;
import java.io.PrintWriter;
import java.util.Locale;

/** Prints calls as they come, one to a line. */
final class CallLines {

    private static final String FORMAT = "%-26s  %-14s  %-12s  %-12s  %-12s  %8s  %-24s  %9s  %s%n";

    private final HomeJournals journals;
    private final PrintWriter out;
    private final boolean isJson;
    private boolean begun;

    CallLines(HomeJournals journals, PrintWriter out, boolean isJson) {
        this.journals = journals;
        this.out = out;
        this.isJson = isJson;
    }

    void accept(StoredCall call) {
        StoredRecord request = call.request();
        if (isJson) {
            RecordJson records = new RecordJson(journals);
            Json.printLine(out, json -> {
                json.writeStartObject();
                records.fields(request, json);
                if (call.operation().isPresent()) {
                    json.writeStringField("operation", call.operation().get());
                }
                json.writeStringField("outcome", call.outcome().name().toLowerCase(Locale.ROOT));
                if (call.tookNs().isPresent()) {
                    json.writeNumberField("took_ns", call.tookNs().get());
                }
                if (call.outcome() == StoredCall.Outcome.ERROR) {
                    json.writeStringField(
                            "error_code",
                            call.response().orElseThrow().errorCode().name());
                }
                json.writeEndObject();
            });
            return;
        }
        if (!begun) {
            begun = true;
            out.printf(FORMAT, "SENT", "ID", "FROM", "TO", "TYPE", "BYTES", "OUTCOME", "TOOK", "OPERATION");
        }
        out.printf(
                FORMAT,
                ShownTime.of(request.sentNs()),
                MessageId.text(request.id()),
                journals.nameOf(request.from()),
                journals.nameOf(request.to()),
                request.type(),
                request.payloadBytes() + request.sectionBytes(),
                call.outcomeText(),
                call.tookNs().map(ShownTime::took).orElse("-"),
                Printable.oneLine(call.operation().orElse("")));
    }
}
