package io.waybill.cli.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageId;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.ReplayedCall.Result;
import io.waybill.replay.run.CallSink;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.io.Writer;
import java.util.HexFormat;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Sink that writes replayed calls as spans: an {@code ExportTraceServiceRequest} in OTLP's JSON, which collectors
 * accept. Each run of a call is a separate trace, with a link to the recorded call's span, if the call belongs to a
 * trace. For one thread.
 */
final class ReplayTrace implements CallSink, AutoCloseable {

    private static final int INTERNAL = 1;
    private static final int ERROR = 2;

    private final JsonGenerator json;
    private final SplittableRandom ids;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView request = new RecordView(buffer);

    /**
     * Creates a sink that writes to a file.
     *
     * @param out closed with this object
     * @param seed seed of the ids of traces and spans
     */
    ReplayTrace(Writer out, long seed) throws IOException {
        this.json = new JsonFactory().createGenerator(out);
        this.ids = new SplittableRandom(seed);
        json.writeStartObject();
        json.writeArrayFieldStart("resourceSpans");
        json.writeStartObject();
        json.writeObjectFieldStart("resource");
        json.writeArrayFieldStart("attributes");
        attribute("service.name", "waybill-replay");
        json.writeEndArray();
        json.writeEndObject();
        json.writeArrayFieldStart("scopeSpans");
        json.writeStartObject();
        json.writeObjectFieldStart("scope");
        json.writeStringField("name", "io.waybill.replay");
        json.writeEndObject();
        json.writeArrayFieldStart("spans");
    }

    @Override
    public void accept(ReplayedCall call) throws IOException {
        call.call().request().in(buffer);
        for (Result result : call.results()) {
            if (result.beganNs() != 0) {
                span(call, result);
            }
        }
    }

    private void span(ReplayedCall call, Result result) throws IOException {
        json.writeStartObject();
        json.writeStringField("traceId", hex(id()) + hex(id()));
        json.writeStringField("spanId", hex(id()));
        json.writeStringField("name", call.operation());
        json.writeNumberField("kind", INTERNAL);
        json.writeStringField("startTimeUnixNano", Long.toString(result.beganNs()));
        json.writeStringField("endTimeUnixNano", Long.toString(result.beganNs() + result.tookNs()));
        json.writeArrayFieldStart("attributes");
        attribute("messaging.message.id", MessageId.text(call.call().id()));
        attribute("waybill.worker", call.worker().name());
        attribute("waybill.replay.handlers", result.candidate());
        attribute("waybill.replay.verdict", result.verdict().name().toLowerCase(Locale.ROOT));
        if (!result.reason().isEmpty()) {
            attribute("waybill.replay.reason", result.reason());
        }
        json.writeEndArray();
        if (request.hasContext() && request.span() != 0) {
            json.writeArrayFieldStart("links");
            json.writeStartObject();
            json.writeStringField("traceId", hex(request.traceHigh()) + hex(request.traceLow()));
            json.writeStringField("spanId", hex(request.span()));
            json.writeEndObject();
            json.writeEndArray();
        }
        if (result.replayed().isEmpty() || result.replayed().get().isError()) {
            json.writeObjectFieldStart("status");
            json.writeNumberField("code", ERROR);
            json.writeEndObject();
        }
        json.writeEndObject();
    }

    private void attribute(String key, String value) throws IOException {
        json.writeStartObject();
        json.writeStringField("key", key);
        json.writeObjectFieldStart("value");
        json.writeStringField("stringValue", value);
        json.writeEndObject();
        json.writeEndObject();
    }

    private long id() {
        long id = 0;
        while (id == 0) {
            id = ids.nextLong();
        }
        return id;
    }

    private static String hex(long id) {
        return HexFormat.of().toHexDigits(id);
    }

    /** Completes the document, and closes the file. */
    @Override
    public void close() throws IOException {
        json.close(); // closes all open objects, too
    }
}
