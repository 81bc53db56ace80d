package io.waybill.cli.conformance;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.conformance.CaseResult.Verdict;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Table;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** The results of a run as a user sees them. Immutable. */
public final class ConformanceReport {

    private static final long NS_PER_MS = 1_000_000;

    private final List<CaseResult> results;

    public ConformanceReport(List<CaseResult> results) {
        this.results = List.copyOf(results);
    }

    public void print(PrintWriter out, boolean json) {
        if (json) {
            Json.print(out, this::write);
            return;
        }
        Table table = new Table("RESULT", "MS", "FILE", "CASE", "");
        for (CaseResult result : results) {
            table.row(
                    word(result.verdict()),
                    result.tookNs() / NS_PER_MS,
                    result.file().getFileName(),
                    result.name(),
                    result.text());
        }
        table.print(out);
        out.println(count(Verdict.PASSED) + " passed, " + count(Verdict.FAILED) + " failed, " + count(Verdict.SKIPPED)
                + " skipped");
        out.flush();
    }

    private void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("cases");
        for (CaseResult result : results) {
            json.writeStartObject();
            json.writeStringField("file", result.file().toString());
            json.writeStringField("name", result.name());
            json.writeStringField("result", word(result.verdict()));
            if (!result.text().isEmpty()) {
                json.writeStringField("text", result.text());
            }
            json.writeNumberField("took_ns", result.tookNs());
            json.writeEndObject();
        }
        json.writeEndArray();
        for (Verdict verdict : Verdict.values()) {
            json.writeNumberField(word(verdict), count(verdict));
        }
        json.writeEndObject();
    }

    private long count(Verdict verdict) {
        return results.stream().filter(result -> result.verdict() == verdict).count();
    }

    private static String word(Verdict verdict) {
        return verdict.name().toLowerCase(Locale.ROOT);
    }
}
