package io.waybill.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.journal.JournalQueue;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.wire.MessageBuffer;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Replayed calls as spans. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ReplayTraceTest {

    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final long SPAN = 0x77;

    private static List<JsonNode> spans(ReplayedCall... calls) throws Exception {
        StringWriter text = new StringWriter();
        try (ReplayTrace trace = new ReplayTrace(text, 1)) {
            for (ReplayedCall call : calls) {
                trace.accept(call);
            }
        }
        JsonNode scope = new ObjectMapper()
                .readTree(text.toString())
                .get("resourceSpans")
                .get(0)
                .get("scopeSpans")
                .get(0);
        List<JsonNode> spans = new ArrayList<>();
        scope.get("spans").forEach(spans::add);
        return spans;
    }

    /** A call of a trace. */
    private static ReplayedCall traced(ReplayedCall.Result... results) {
        CallContext context = CallContext.EMPTY.with(TraceContext.parse("00-" + TRACE + "-00f067aa0ba902b7-01"));
        long id = MessageId.of(ReplayedCalls.APP.id(), 9);
        MessageBuffer buffer = new MessageBuffer()
                .begin(
                        MessageType.NAMED_CALL,
                        id,
                        ReplayedCalls.APP.id(),
                        ReplayedCalls.PS0.id(),
                        MessageBuffer.contextLength(context),
                        0);
        buffer.context(context, SPAN, 0);
        buffer.seal(9);
        byte[] record = new byte[buffer.length()];
        buffer.memory().getBytes(0, record);
        return new ReplayedCall(
                new RecordedCall(
                        id,
                        new RecordedMessage(ReplayedCalls.APP, JournalQueue.REQUESTS, "20261120-08.cq4", record),
                        Optional.empty()),
                ReplayedCalls.PS0,
                "text.count",
                Optional.empty(),
                List.of(results));
    }

    private static String attribute(JsonNode span, String key) {
        for (JsonNode each : span.get("attributes")) {
            if (each.get("key").asText().equals(key)) {
                return each.get("value").get("stringValue").asText();
            }
        }
        return "none";
    }

    @Test
    void isATraceOfItsOwnWithALinkToTheRecordedSpan() throws Exception {
        List<JsonNode> spans = spans(traced(
                ReplayedCalls.same("installed", 2).ran(1_000, 50),
                ReplayedCalls.failed("a.jar", "planted", "it failed").ran(2_000, 60)));
        assertThat(spans).hasSize(2).allSatisfy(span -> {
            assertThat(span.get("traceId").asText()).matches("[0-9a-f]{32}").isNotEqualTo(TRACE);
            assertThat(span.get("spanId").asText()).matches("[0-9a-f]{16}");
            assertThat(span.has("parentSpanId")).isFalse();
            assertThat(span.get("links")).hasSize(1);
            assertThat(span.get("links").get(0).get("traceId").asText()).isEqualTo(TRACE);
            assertThat(span.get("links").get(0).get("spanId").asText()).isEqualTo("0000000000000077");
            assertThat(attribute(span, "messaging.message.id")).isEqualTo("3.9");
        });
        assertThat(spans).extracting(span -> span.get("traceId")).doesNotHaveDuplicates();
        JsonNode first = spans.get(0);
        assertThat(first.get("name").asText()).isEqualTo("text.count");
        assertThat(first.get("startTimeUnixNano").asText()).isEqualTo("1000");
        assertThat(first.get("endTimeUnixNano").asText()).isEqualTo("1050");
        assertThat(attribute(first, "waybill.replay.verdict")).isEqualTo("same");
        assertThat(first.has("status")).isFalse();
        assertThat(attribute(spans.get(1), "waybill.replay.handlers")).isEqualTo("a.jar");
        assertThat(spans.get(1).get("status").get("code").asInt()).isEqualTo(2);
    }

    @Test
    void hasNoLinkWithoutATraceAndNoSpanWithoutARun() throws Exception {
        List<JsonNode> spans = spans(
                ReplayedCalls.count(
                        1, "to be", 2, ReplayedCalls.same("installed", 2).ran(1, 1)),
                ReplayedCalls.count(2, "or not", 2, ReplayedCalls.notReplayable("installed", "planted")));
        assertThat(spans).hasSize(1);
        assertThat(spans.get(0).has("links")).isFalse();
    }
}
