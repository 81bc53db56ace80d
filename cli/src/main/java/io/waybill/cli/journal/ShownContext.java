package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.cli.show.Printable;
import io.waybill.query.stored.Payload;
import io.waybill.wire.OptionalFields;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;

/** Shows the context of a call, and the optional fields of its records. Stateless. */
final class ShownContext {

    private static final int MAX_VALUE_CHARS = 200;

    private ShownContext() {}

    /** Prints the lines of a request's context and of optional fields; none without them. */
    static void print(Payload payload, PrintWriter out) {
        print(payload.optionalFields(), out);
        CallContext context = payload.context();
        if (!context.names().isEmpty()) {
            StringJoiner values = new StringJoiner(", ");
            context.names().forEach(name -> values.add(name + "=" + value(context, name)));
            out.println("  context  " + values);
        }
        if (context.trace().isPresent()) {
            TraceContext trace = context.trace().get();
            String state = trace.state().isEmpty() ? "" : ", state " + Printable.oneLine(trace.state());
            out.println("  trace    " + trace.traceId() + ", span " + digits(trace.spanId()) + ", called from span "
                    + digits(payload.callerSpan()) + (trace.isSampled() ? ", sampled" : "") + state);
        }
    }

    private static void print(OptionalFields fields, PrintWriter out) {
        if (fields.streamSequence().isPresent()) {
            out.println("  stream   part "
                    + Long.toUnsignedString(fields.streamSequence().getAsLong())
                    + (fields.isStreamEnd() ? ", the last" : ""));
        }
        fields.chainDigest()
                .ifPresent(digest -> out.println("  chain    " + HexFormat.of().formatHex(digest)));
        fields.unknown()
                .forEach((kind, length) ->
                        out.println("  field    kind " + kind + ", " + length + " bytes: not known to this version"));
    }

    private static String value(CallContext context, String name) {
        String shown = text(context, name)
                .map(Printable::oneLine)
                .orElseGet(() -> "0x" + HexFormat.of().formatHex(bytes(context, name)));
        return shown.length() > MAX_VALUE_CHARS ? shown.substring(0, MAX_VALUE_CHARS) + "…" : shown;
    }

    /** Returns a value as text; empty if it is no UTF-8. */
    private static Optional<String> text(CallContext context, String name) {
        try {
            return Optional.of(StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(context.bytes(name).orElseThrow())
                    .toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }

    private static byte[] bytes(CallContext context, String name) {
        ByteBuffer value = context.bytes(name).orElseThrow();
        byte[] bytes = new byte[value.remaining()];
        value.get(bytes);
        return bytes;
    }

    private static String digits(long span) {
        return HexFormat.of().toHexDigits(span);
    }

    private static void write(OptionalFields fields, JsonGenerator json) throws IOException {
        if (fields.streamSequence().isPresent()) {
            json.writeObjectFieldStart("stream");
            json.writeNumberField("sequence", fields.streamSequence().getAsLong());
            json.writeBooleanField("end", fields.isStreamEnd());
            json.writeEndObject();
        }
        if (fields.chainDigest().isPresent()) {
            json.writeStringField(
                    "chain_digest",
                    HexFormat.of().formatHex(fields.chainDigest().get()));
        }
        if (!fields.unknown().isEmpty()) {
            json.writeArrayFieldStart("unknown_fields");
            for (Map.Entry<Integer, Integer> field : fields.unknown().entrySet()) {
                json.writeStartObject();
                json.writeNumberField("kind", field.getKey());
                json.writeNumberField("bytes", field.getValue());
                json.writeEndObject();
            }
            json.writeEndArray();
        }
    }

    /** Writes the fields of an open object; none for an empty context without optional fields. */
    static void write(Payload payload, JsonGenerator json) throws IOException {
        write(payload.optionalFields(), json);
        CallContext context = payload.context();
        if (!context.names().isEmpty()) {
            json.writeArrayFieldStart("context");
            for (String name : context.names()) {
                json.writeStartObject();
                json.writeStringField("name", name);
                Optional<String> text = text(context, name);
                if (text.isPresent()) {
                    json.writeStringField("text", text.get());
                } else {
                    json.writeBinaryField("bytes", bytes(context, name));
                }
                json.writeEndObject();
            }
            json.writeEndArray();
        }
        if (context.trace().isPresent()) {
            TraceContext trace = context.trace().get();
            json.writeObjectFieldStart("trace");
            json.writeStringField("trace_id", trace.traceId());
            json.writeStringField("span_id", digits(trace.spanId()));
            json.writeStringField("caller_span_id", digits(payload.callerSpan()));
            json.writeBooleanField("sampled", trace.isSampled());
            if (!trace.state().isEmpty()) {
                json.writeStringField("state", trace.state());
            }
            json.writeEndObject();
        }
    }
}
