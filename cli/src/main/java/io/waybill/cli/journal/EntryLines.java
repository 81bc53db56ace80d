package io.waybill.cli.journal;

import io.waybill.api.MessageId;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ShownTime;
import io.waybill.query.StoredEntry;
import io.waybill.query.StoredMessages;
import io.waybill.query.stored.StoredRecord;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.function.Consumer;

/** Prints records on arrival, one per line. */
final class EntryLines implements Consumer<StoredEntry> {

    private final StoredMessages journals;
    private final PrintWriter out;
    private final boolean isJson;

    EntryLines(StoredMessages journals, PrintWriter out, boolean isJson) {
        this.journals = journals;
        this.out = out;
        this.isJson = isJson;
    }

    @Override
    public void accept(StoredEntry entry) {
        StoredRecord record = entry.record();
        if (isJson) {
            RecordJson records = new RecordJson(journals);
            Json.printLine(out, json -> {
                json.writeStartObject();
                records.fields(record, json);
                if (entry.operation().isPresent()) {
                    json.writeStringField("operation", entry.operation().get());
                }
                json.writeEndObject();
            });
            return;
        }
        out.printf(
                Locale.ROOT,
                "%s  %-14s  %s -> %s  %s%s  %d bytes%s%n",
                ShownTime.of(record.sentNs()),
                MessageId.text(record.id()),
                journals.nameOf(record.from()),
                journals.nameOf(record.to()),
                record.type(),
                entry.operation().map(name -> " " + Printable.oneLine(name)).orElse(""),
                record.payloadBytes() + record.sectionBytes(),
                record.isError() ? "  " + record.errorCode() : "");
        out.flush();
    }
}
