package io.waybill.cli.trace;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageId;
import io.waybill.home.note.Responders.Responder;
import io.waybill.query.StoredCall;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.timeline.CallSpan;
import io.waybill.query.timeline.CallSpan.Kind;
import io.waybill.query.timeline.CallTimeline;
import java.io.IOException;
import java.io.Writer;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntFunction;

/**
 * A timeline in the Trace Event Format, for Perfetto and chrome://tracing: a process for each worker, a thread for each
 * of its tracks, and a flow from each request to its handler. Times are in microseconds since the start.
 */
public final class TraceEvents {

    private final IntFunction<String> names;
    private final CallTimeline timeline;

    /**
     * Creates a writer of a timeline.
     *
     * @param names function from an id to the name of a worker
     */
    public TraceEvents(IntFunction<String> names, CallTimeline timeline) {
        this.names = names;
        this.timeline = timeline;
    }

    public void writeTo(Writer out) throws IOException {
        try (JsonGenerator json = new JsonFactory().createGenerator(out)) {
            json.writeStartObject();
            json.writeStringField("displayTimeUnit", "ns");
            json.writeObjectFieldStart("otherData");
            json.writeStringField(
                    "begin", Instant.EPOCH.plusNanos(timeline.beginNs()).toString());
            json.writeEndObject();
            json.writeArrayFieldStart("traceEvents");
            Map<Integer, Integer> tracks = new TreeMap<>();
            for (CallSpan span : timeline.spans()) {
                tracks.merge(span.worker(), span.track(), Math::max);
                span(span, json);
            }
            for (Map.Entry<Integer, Integer> worker : tracks.entrySet()) {
                worker(worker.getKey(), worker.getValue(), json);
            }
            json.writeEndArray();
            json.writeEndObject();
        }
    }

    private void worker(int id, int lastTrack, JsonGenerator json) throws IOException {
        metadata("process_name", id, 0, names.apply(id) + " (" + id + ")", json);
        for (int track = 0; track <= lastTrack; track++) {
            metadata("thread_name", id, track, "track " + track, json);
        }
    }

    private static void metadata(String what, int worker, int track, String name, JsonGenerator json)
            throws IOException {
        open(what, "M", worker, track, json);
        json.writeObjectFieldStart("args");
        json.writeStringField("name", name);
        json.writeEndObject();
        json.writeEndObject();
    }

    private static void open(String name, String phase, int worker, int track, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", name);
        json.writeStringField("ph", phase);
        json.writeNumberField("pid", worker);
        json.writeNumberField("tid", track);
    }

    private void span(CallSpan span, JsonGenerator json) throws IOException {
        String kind = span.kind().name().toLowerCase(Locale.ROOT);
        open(SpanText.name(span, names), "X", span.worker(), span.track(), json);
        json.writeStringField("cat", kind);
        time(span.beginNs(), json);
        json.writeNumberField("dur", micros(span.endNs() - span.beginNs()));
        json.writeObjectFieldStart("args");
        arguments(span.call(), json);
        if (!span.isBeginOnRecord()) {
            json.writeBooleanField("begin_on_record", false);
        }
        json.writeEndObject();
        json.writeEndObject();
        if (span.call().response().isPresent()) {
            flow(span, json);
        }
    }

    private void flow(CallSpan span, JsonGenerator json) throws IOException {
        boolean isBegin = span.kind() == Kind.CALL;
        open("request", isBegin ? "s" : "f", span.worker(), span.track(), json);
        json.writeStringField("cat", "request");
        json.writeStringField("id", MessageId.text(span.call().request().id()));
        time(span.beginNs(), json);
        if (!isBegin) {
            json.writeStringField("bp", "e");
        }
        json.writeEndObject();
    }

    private static void arguments(StoredCall call, JsonGenerator json) throws IOException {
        StoredRecord request = call.request();
        json.writeStringField("id", MessageId.text(request.id()));
        if (request.parent() != MessageId.NONE) {
            json.writeStringField("parent", MessageId.text(request.parent()));
        }
        json.writeStringField("type", request.type().name());
        json.writeStringField("outcome", call.outcomeText());
        Optional<Responder> by = call.notes().responder();
        if (by.isPresent()) {
            json.writeStringField("bundle", by.get().toString());
        }
        long rootId = call.response().map(StoredRecord::rootId).orElse(MessageId.NONE);
        if (rootId != MessageId.NONE) {
            json.writeStringField("root_id", MessageId.text(rootId));
        }
        json.writeNumberField("request_bytes", request.payloadBytes() + request.sectionBytes());
        json.writeNumberField("request_tensors", request.tensorCount());
        if (call.response().isPresent()) {
            StoredRecord response = call.response().get();
            json.writeNumberField("response_bytes", response.payloadBytes() + response.sectionBytes());
            json.writeNumberField("response_tensors", response.tensorCount());
            if (response.begunNs() != 0) {
                json.writeNumberField("waited_ns", response.begunNs() - request.sentNs());
                json.writeNumberField("ran_ns", response.sentNs() - response.begunNs());
            }
        }
        if (request.traceHigh() != 0 || request.traceLow() != 0) {
            json.writeStringField(
                    "trace_id", String.format(Locale.ROOT, "%016x%016x", request.traceHigh(), request.traceLow()));
        }
    }

    private void time(long atNs, JsonGenerator json) throws IOException {
        json.writeNumberField("ts", micros(atNs - timeline.beginNs()));
    }

    private static BigDecimal micros(long ns) {
        return BigDecimal.valueOf(ns, 3);
    }
}
