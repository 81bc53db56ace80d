package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.exchange.Wrapping;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.slice.Payloads;
import io.waybill.replay.slice.SliceWriter;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Handlers have the recorded contexts again, and their calls are compared with the recorded ones. */
@Timeout(120)
class ContextReplayTest {

    private static final int CALLS = 12;
    private static final TraceContext TRACE = new TraceContext(0xabc, 0xdef, 0x77, 1, "v=1");

    @TempDir
    private Path directory;

    private static String seen() {
        CallContext context = CallContext.current();
        String trace =
                context.trace().map(each -> each.traceparent() + each.state()).orElse("-");
        return context.text("k").orElse("none") + " " + context.text("level").orElse("0") + " " + trace;
    }

    /** Responds with what it sees, and what the handler sees that it calls with one value more. */
    private static void front(Message message, Outbox outbox, String level) {
        CallContext.EMPTY.with("k", "left open").makeCurrent().close();
        CallContext next =
                level.isEmpty() ? CallContext.current() : CallContext.current().with("level", level);
        try (Response below = next.supply(() -> outbox.caller().call(Request.operation("b", "text.below")))) {
            outbox.respond(Value.of(seen() + " / " + below.value()));
        }
        CallContext.EMPTY.with("k", "left open").makeCurrent();
    }

    private static ReplayScenario scenario(String level) {
        return new ReplayScenario()
                .handles("a", "text.front", (message, outbox) -> front(message, outbox, level))
                .handles("a", "text.late", (message, outbox) -> {
                    LateResponse late = outbox.later();
                    late.send(Value.of(seen()));
                })
                .handles("a", "inner.front", (message, outbox) -> front(message, outbox, level))
                .handles("a", "0x150", ContextReplayTest::around)
                .handles("b", "text.below", (message, outbox) -> outbox.respond(Value.of(seen())));
    }

    /** Adds a value for the message inside. */
    private static void around(Message message, Outbox outbox) throws Exception {
        CallContext more = CallContext.current().with("around", "yes");
        var scope = more.makeCurrent();
        try {
            Wrapping.BLOCKING.handle(message, outbox);
        } finally {
            scope.close();
        }
    }

    private static void call(Worker caller) {
        Wrapping.add(caller, "inner.*", 0x50, 0);
        for (int i = 0; i < CALLS; i++) {
            CallContext context = i % 3 == 0 ? CallContext.EMPTY : CallContext.EMPTY.with("k", "call-" + i);
            CallContext traced = i % 2 == 0 ? context : context.with(TRACE);
            for (String operation : List.of("text.front", "text.late", "inner.front")) {
                traced.run(() -> caller.call(Request.operation("a", operation)).close());
            }
        }
    }

    private static List<ReplayedCall> replay(ReplayScenario scenario, Path of) throws Exception {
        List<ReplayedCall> calls = new ArrayList<>();
        scenario.replay(of).run(calls::add);
        return calls;
    }

    private static Verdict verdict(ReplayedCall call) {
        return call.results().get(0).verdict();
    }

    @Test
    void hasTheSameResults() throws Exception {
        Path home = scenario("1").record(directory, ContextReplayTest::call);
        assertThat(replay(scenario("1"), home))
                .hasSize(5 * CALLS)
                .allSatisfy(call -> assertThat(call.results().get(0).reason()).isEmpty());
    }

    @Test
    void reportsCallsWithOtherValues() throws Exception {
        Path home = scenario("1").record(directory, ContextReplayTest::call);
        for (String other : List.of("", "2")) {
            List<ReplayedCall> different = replay(scenario(other), home).stream()
                    .filter(call -> verdict(call) != Verdict.SAME)
                    .toList();
            assertThat(different)
                    .hasSize(2 * CALLS)
                    .allSatisfy(call -> assertThat(call.results().get(0).reason())
                            .contains("had another context: recorded [", "level], replayed ["));
        }
    }

    @Test
    void comparesWhatInterceptorsAdd() throws Exception {
        Path home = adding("x").record(directory, ContextReplayTest::call);
        assertThat(replay(adding("x"), home)).allMatch(call -> verdict(call) == Verdict.SAME);
        assertThat(replay(adding("y"), home))
                .filteredOn(call -> verdict(call) != Verdict.SAME)
                .hasSize(2 * CALLS);
    }

    private static ReplayScenario adding(String value) {
        return scenario("1").interceptsCalls("a", "text.below", new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {
                call.context(call.context().with("added", value));
            }
        });
    }

    @Test
    void doesNotCompareSpans() throws Exception {
        Path home = spanning(5).record(directory, ContextReplayTest::call);
        assertThat(replay(spanning(6), home)).allMatch(call -> verdict(call) == Verdict.SAME);
    }

    private static ReplayScenario spanning(long span) {
        return scenario("1").interceptsCalls("a", "text.below", new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {
                call.context(call.context().with(TRACE.inSpan(span)));
            }
        });
    }

    @Test
    void isInSlices() throws Exception {
        Path home = scenario("1").record(directory, ContextReplayTest::call);
        Path slice = directory.resolve("calls.slice");
        try (HomeRecording recording = HomeRecording.open(home, Host.real())) {
            SliceWriter.write(recording, new MessageFilter.Builder().build(), Payloads.FULL, slice, calls -> {});
        }
        assertThat(replay(scenario("1"), slice)).isNotEmpty().allMatch(call -> verdict(call) == Verdict.SAME);
        assertThat(replay(scenario("2"), slice)).anyMatch(call -> verdict(call) != Verdict.SAME);
    }
}
