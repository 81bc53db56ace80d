package io.waybill.worker.context;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Contexts as they stand in the journals of workers. */
@Timeout(180)
class ContextOnRecordTest {

    private static final TraceContext TRACE = new TraceContext(0xabc, 0xdef, 0x77, 1, "v=1");
    private static final CallContext TRACED = CallContext.EMPTY.with("k", "one").with(TRACE);

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        server = workers.join("server", handlers());
        caller = workers.join("caller", handlers());
    }

    private HandlerRegistry handlers() {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "text.down", ContextOnRecordTest::down);
        workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> outbox.respond(Value.NONE));
        return handlers;
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    /** Calls the worker that called, as deep as its argument says. */
    private static void down(Message message, Outbox outbox) throws RejectedMessageException {
        long left = message.int64("left");
        if (left > 0) {
            outbox.caller().call(down(String.valueOf(message.from()), left - 1)).close();
        }
        outbox.respond(Value.NONE);
    }

    private static Request down(String to, long left) {
        Request request = Request.operation(to, "text.down");
        request.body().int64("left", left);
        return request;
    }

    private void down(int levels) {
        caller.call(down("server", levels)).close();
    }

    @Test
    void isOnRecordWithEachRequestAndNeverWithTheBrokersOwn() throws Exception {
        TRACED.run(() -> {
            try (RRef made = caller.rpc().remote("server", new Invocation("test::f", List.of(), Map.of()))) {
                made.toHere().close();
            }
        });
        Waits.until(
                "the reference is released on record",
                () -> RecordedContexts.of(caller).stream()
                        .anyMatch(each -> each.type() == MessageType.RREF_USER_DELETE));
        for (RecordedContexts.OnRecord each : RecordedContexts.of(caller)) {
            boolean isCall =
                    each.type() == MessageType.SCRIPT_REMOTE_CALL || each.type() == MessageType.SCRIPT_RREF_FETCH_CALL;
            assertThat(each.context().names()).as(each.type().toString()).isEqualTo(isCall ? List.of("k") : List.of());
            assertThat(each.context().trace().isPresent()).isEqualTo(isCall);
        }
    }

    @Test
    void rebuildsATraceFromJournals() {
        TRACED.run(() -> {
            down(3);
            down(0);
        });
        down(1); // not traced
        List<RecordedContexts.OnRecord> all = new ArrayList<>(RecordedContexts.of(caller));
        all.addAll(RecordedContexts.of(server));
        Map<Long, RecordedContexts.OnRecord> byId = new LinkedHashMap<>();
        Set<Long> spans = new HashSet<>();
        int traced = 0;
        for (RecordedContexts.OnRecord each : all) {
            byId.put(each.id(), each);
        }
        for (RecordedContexts.OnRecord each : all) {
            if (each.context().trace().isEmpty()) {
                assertThat(each.callerSpan()).isZero();
                continue;
            }
            traced++;
            TraceContext trace = each.context().trace().get();
            assertThat(trace).isEqualTo(TRACE.inSpan(each.span()));
            assertThat(spans.add(each.span())).as("a span of its own").isTrue();
            assertThat(each.callerSpan())
                    .as("the span of what made it")
                    .isEqualTo(
                            each.parent() == MessageId.NONE
                                    ? TRACE.spanId()
                                    : byId.get(each.parent()).span());
        }
        assertThat(traced).isEqualTo(5);
        assertThat(all).hasSize(7);
    }
}
