package io.waybill.cli.replay;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.replay.ShownCall.ShownResult;
import io.waybill.cli.show.Json;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.compare.Verdict;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Writes reports of replays as JSON. Stateless. */
final class ReportJson {

    private ReportJson() {}

    /** Writes a call on one line. */
    static void writeLine(ShownCall call, PrintWriter out) {
        Json.printLine(out, json -> write(call, json));
    }

    /** Prints the whole report, with the first calls that are not the same. */
    static void print(ReplayReport report, NotSameCalls calls, PrintWriter out) {
        Json.print(out, json -> {
            json.writeStartObject();
            json.writeBooleanField("all_same", report.isAllSame());
            json.writeNumberField("calls", report.calls());
            json.writeNumberField("not_same_calls", calls.count());
            json.writeNumberField("left_out", report.left());
            json.writeNumberField("brought_along", report.brought());
            rows(report.rows(), json);
            json.writeArrayFieldStart("not_same");
            for (ShownCall call : calls.kept()) {
                write(call, json);
            }
            json.writeEndArray();
            json.writeArrayFieldStart("problems");
            for (String problem : report.problems()) {
                json.writeString(problem);
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }

    private static void rows(List<ReplayReport.Row> rows, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("rows");
        for (ReplayReport.Row row : rows) {
            json.writeStartObject();
            json.writeStringField("worker", row.worker().name());
            json.writeStringField("operation", row.operation());
            json.writeStringField("handlers", row.candidate());
            json.writeStringField("verdict", word(row.verdict()));
            json.writeNumberField("count", row.count());
            json.writeObjectFieldStart("reasons");
            for (Map.Entry<String, Long> reason : row.reasons().entrySet()) {
                json.writeNumberField(reason.getKey(), reason.getValue());
            }
            json.writeEndObject();
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void write(ShownCall call, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", call.id());
        json.writeStringField("from", call.from());
        json.writeStringField("to", call.to());
        json.writeStringField("operation", call.operation());
        json.writeStringField("request", call.request());
        json.writeStringField("recorded", call.recorded());
        json.writeArrayFieldStart("results");
        for (ShownResult result : call.results()) {
            json.writeStartObject();
            json.writeStringField("handlers", result.candidate());
            json.writeStringField("verdict", word(result.verdict()));
            json.writeStringField("replayed", result.replayed());
            json.writeStringField("reason", result.reason());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeStringField("again", call.again());
        json.writeEndObject();
    }

    private static String word(Verdict verdict) {
        return verdict.name().toLowerCase(Locale.ROOT);
    }
}
