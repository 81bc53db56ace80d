package io.waybill.metrics.otlp;

import io.waybill.api.MessageId;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.IntFunction;

/** Encoder of spans as OTLP's {@code ExportTraceServiceRequest}. Stateless. */
final class TraceRequest {

    private static final int SERVER = 2;
    private static final int CLIENT = 3;
    private static final int ERROR = 2;
    private static final int SAMPLED = 1;
    private static final int ATTRIBUTES = 9;

    private TraceRequest() {}

    /** @param names names of workers, by id; an unknown id is formatted as a number */
    static byte[] encode(OtlpResource from, List<ExportedSpan> spans, IntFunction<String> names) {
        return new ProtoWriter()
                .message(1, resourceSpans -> {
                    from.write(resourceSpans, 1);
                    resourceSpans.message(2, scopeSpans -> {
                        from.writeScope(scopeSpans, 1);
                        spans.forEach(span -> scopeSpans.message(2, out -> write(out, span, names)));
                    });
                })
                .toByteArray();
    }

    private static void write(ProtoWriter out, ExportedSpan span, IntFunction<String> names) {
        out.bytes(1, traceId(span)).bytes(2, id(span.spanId())).bytes(4, id(span.parentId()));
        out.string(5, span.operation())
                .varint(6, span.isOfCaller() ? CLIENT : SERVER)
                .fixed64(7, span.startNs())
                .fixed64(8, span.endNs());
        OtlpResource.attribute(out, ATTRIBUTES, "rpc.system", "waybill");
        OtlpResource.attribute(out, ATTRIBUTES, "rpc.method", span.operation());
        OtlpResource.attribute(out, ATTRIBUTES, "messaging.message.id", MessageId.text(span.messageId()));
        OtlpResource.attribute(out, ATTRIBUTES, "waybill.type", span.type());
        OtlpResource.attribute(out, ATTRIBUTES, "waybill.peer", names.apply(span.peer()));
        OtlpResource.attribute(out, ATTRIBUTES, "waybill.request.bytes", span.bytes());
        if (span.error() != null) {
            OtlpResource.attribute(out, ATTRIBUTES, "error.type", span.error().name());
        }
        if (span.isOfCaller()) {
            out.message(
                    13,
                    link -> link.bytes(1, traceId(span))
                            .bytes(2, id(span.linkedId()))
                            .fixed32(6, SAMPLED));
        }
        if (span.error() != null) {
            out.message(15, status -> status.string(2, span.error().name()).varint(3, ERROR));
        }
        out.fixed32(16, SAMPLED);
    }

    private static byte[] traceId(ExportedSpan span) {
        return ByteBuffer.allocate(2 * Long.BYTES)
                .putLong(span.traceIdHigh())
                .putLong(span.traceIdLow())
                .array();
    }

    private static byte[] id(long span) {
        return ByteBuffer.allocate(Long.BYTES).putLong(span).array();
    }
}
