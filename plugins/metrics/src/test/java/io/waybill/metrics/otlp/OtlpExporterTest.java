package io.waybill.metrics.otlp;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.trace.v1.Span;
import io.opentelemetry.proto.trace.v1.Status;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a receiver of OTLP gets from workers that call each other. */
@Timeout(300)
class OtlpExporterTest {

    private static final TraceContext TRACE =
            TraceContext.parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");

    @TempDir
    private Path home;

    private final List<AutoCloseable> open = new ArrayList<>();
    private final Map<Long, String> onRecord = new ConcurrentHashMap<>(); // span by message id, as the core reports it
    private final CallSpans serving = new CallSpans();
    private final CallSpans calling = new CallSpans();
    private OtlpReceiver receiver;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void join() throws Exception {
        receiver = keep(new OtlpReceiver());
        CallEvents spy = event -> {
            if (event.kind() == CallEvent.Kind.APPENDED && event.spanId() != 0) {
                onRecord.put(event.id(), HexFormat.of().toHexDigits(event.spanId()));
            }
        };
        server = keep(Waybill.connect(home, "server")
                .with("text.count", (message, outbox) -> outbox.respond(Value.of(1)))
                .with("text.outer", (message, outbox) -> {
                    outbox.caller()
                            .call(Request.operation("caller", "text.inner"))
                            .close();
                    outbox.respond(Value.of(2));
                })
                .with("text.fail", (message, outbox) -> {
                    throw new IllegalStateException("planted");
                })
                .with(serving)
                .with(spy)
                .join());
        caller = keep(Waybill.connect(home, "caller")
                .with("text.inner", (message, outbox) -> outbox.respond(Value.of(3)))
                .with(calling)
                .with(spy)
                .join());
    }

    @AfterEach
    void close() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private <T extends AutoCloseable> T keep(T opened) {
        open.add(opened);
        return opened;
    }

    private OtlpExporter export(String worker, CallSpans spans) {
        return keep(new OtlpExporter(
                new OtlpExporter.Target(receiver.endpoint(), Map.of("x-key", "secret"), Duration.ofSeconds(60)),
                new OtlpResource(worker, 4711, "0.1.0"),
                id -> "worker " + id,
                spans,
                null));
    }

    private long call(String operation) {
        try (Response response = caller.call(Request.operation("server", operation))) {
            return response.id();
        }
    }

    private List<Span> spans(int count) {
        Waits.until("there are " + count + " spans", () -> receiver.spans().size() >= count);
        assertThat(receiver.wrong()).isEmpty();
        assertThat(receiver.spans()).hasSize(count);
        return receiver.spans();
    }

    private static String hex(ByteString bytes) {
        return HexFormat.of().formatHex(bytes.toByteArray());
    }

    private static Map<String, String> attributes(List<KeyValue> all) {
        return all.stream()
                .collect(Collectors.toMap(
                        KeyValue::getKey,
                        each -> each.getValue().hasIntValue()
                                ? String.valueOf(each.getValue().getIntValue())
                                : each.getValue().getStringValue()));
    }

    private static Span of(List<Span> spans, Span.SpanKind kind, String operation) {
        return spans.stream()
                .filter(span -> span.getKind() == kind && span.getName().equals(operation))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void getsOneTraceOfNestedCallsWithTheIdsOnRecord() {
        export("server", serving);
        export("caller", calling);
        long[] id = new long[1];
        CallContext.EMPTY.with(TRACE).run(() -> id[0] = call("text.outer"));
        List<Span> spans = spans(4);
        assertThat(spans).allSatisfy(span -> {
            assertThat(hex(span.getTraceId())).isEqualTo("4bf92f3577b34da6a3ce929d0e0e4736");
            assertThat(span.getEndTimeUnixNano()).isGreaterThanOrEqualTo(span.getStartTimeUnixNano());
            assertThat(span.getStatus().getCode()).isEqualTo(Status.StatusCode.STATUS_CODE_UNSET);
        });
        Span outer = of(spans, Span.SpanKind.SPAN_KIND_SERVER, "text.outer");
        Span outerCall = of(spans, Span.SpanKind.SPAN_KIND_CLIENT, "text.outer");
        Span inner = of(spans, Span.SpanKind.SPAN_KIND_SERVER, "text.inner");
        Span innerCall = of(spans, Span.SpanKind.SPAN_KIND_CLIENT, "text.inner");
        assertThat(hex(outer.getSpanId())).isEqualTo(onRecord.get(id[0]));
        assertThat(hex(outer.getParentSpanId())).isEqualTo("00f067aa0ba902b7");
        assertThat(hex(outerCall.getParentSpanId())).isEqualTo("00f067aa0ba902b7");
        assertThat(hex(inner.getParentSpanId())).isEqualTo(hex(outer.getSpanId()));
        assertThat(onRecord).containsValue(hex(inner.getSpanId()));
        assertThat(outerCall.getLinks(0).getSpanId()).isEqualTo(outer.getSpanId());
        assertThat(innerCall.getLinks(0).getSpanId()).isEqualTo(inner.getSpanId());
        assertThat(inner.getStartTimeUnixNano()).isGreaterThanOrEqualTo(outer.getStartTimeUnixNano());
        assertThat(outerCall.getStartTimeUnixNano()).isLessThanOrEqualTo(outer.getStartTimeUnixNano());
        assertThat(attributes(outer.getAttributesList()))
                .containsEntry("messaging.message.id", MessageId.text(id[0]))
                .containsEntry("waybill.peer", "worker " + caller.info().id())
                .containsEntry("rpc.method", "text.outer")
                .containsEntry("waybill.type", "NAMED_CALL");
        assertThat(attributes(receiver.traces()
                        .get(0)
                        .getResourceSpans(0)
                        .getResource()
                        .getAttributesList()))
                .containsEntry("process.pid", "4711")
                .containsEntry("service.namespace", "waybill");
    }

    @Test
    void getsErrors() {
        export("server", serving);
        CallContext.EMPTY.with(TRACE).run(() -> {
            try {
                call("text.fail");
            } catch (RuntimeException e) {
                assertThat(e).hasMessageContaining("planted");
            }
        });
        Span span = spans(1).get(0);
        assertThat(span.getStatus().getCode()).isEqualTo(Status.StatusCode.STATUS_CODE_ERROR);
        assertThat(attributes(span.getAttributesList())).containsEntry("error.type", "HANDLER_FAILED");
    }

    @Test
    void getsNothingOfCallsThatAreNotSampled() {
        export("server", serving);
        CallContext.EMPTY.with(new TraceContext(1, 2, 3, 0, "")).run(() -> call("text.count"));
        call("text.count");
        CallContext.EMPTY.with(TRACE).run(() -> call("text.count"));
        assertThat(hex(spans(1).get(0).getTraceId())).startsWith("4bf9");
    }

    @Test
    void getsTheRestWhenTheExportEnds() throws Exception {
        CallContext.EMPTY.with(TRACE).run(() -> {
            for (int i = 0; i < 2000; i++) {
                call("text.count");
            }
        });
        Waits.until("the last event was delivered", () -> serving.waiting() == 2000);
        export("server", serving).close();
        assertThat(receiver.spans()).hasSize(2000);
        assertThat(receiver.spans().stream().map(Span::getSpanId).distinct()).hasSize(2000);
    }

    @Test
    void repeatsWhatAReceiverCouldNotTakeNow() {
        receiver.status(503);
        OtlpExporter exporter = export("server", serving);
        CallContext.EMPTY.with(TRACE).run(() -> call("text.count"));
        Waits.until("the span was taken from the queue", () -> serving.waiting() == 0);
        receiver.status(200);
        spans(1);
        Waits.until("it is counted", () -> exporter.sent() == 1);
        assertThat(serving.dropped()).isZero();
    }

    @Test
    void dropsAndCountsWhatAReceiverRefuses() {
        receiver.status(400);
        export("server", serving);
        CallContext.EMPTY.with(TRACE).run(() -> call("text.count"));
        Waits.until("the span is dropped", () -> serving.dropped() == 1);
        assertThat(receiver.spans()).isEmpty();
    }

    @Test
    void neverHoldsUpCallsWhileAReceiverHangs() {
        receiver.hang();
        export("server", serving);
        CallContext.EMPTY.with(TRACE).run(() -> {
            for (int i = 0; i < CallSpans.MAX_ENDED + 2000; i++) {
                call("text.count");
            }
        });
        Waits.until("what has no room is dropped", () -> serving.dropped() > 0);
        assertThat(serving.waiting()).isLessThanOrEqualTo(CallSpans.MAX_ENDED);
    }

    @Test
    void goesOnAfterAnInterruptAndAnError() {
        AtomicInteger failures = new AtomicInteger();
        keep(new OtlpExporter(
                new OtlpExporter.Target(receiver.endpoint(), Map.of(), Duration.ofMillis(1)),
                new OtlpResource("server", 4711, "0.1.0"),
                id -> "worker " + id,
                serving,
                timeNs -> {
                    failures.incrementAndGet();
                    throw new NoClassDefFoundError("planted");
                }));
        Waits.until("the first export fails", () -> failures.get() > 0);
        Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("waybill-otlp"))
                .forEach(Thread::interrupt);
        Waits.until("spans of a later call arrive", () -> {
            CallContext.EMPTY.with(TRACE).run(() -> call("text.count"));
            return !receiver.spans().isEmpty();
        });
    }
}
