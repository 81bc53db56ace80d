package io.waybill.worker.context;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvent.Kind;
import io.waybill.api.event.CallEvents;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Listeners see the trace that a call belongs to, with the ids that are on record. */
@Timeout(180)
class TracedEventsTest {

    private static final TraceContext TRACE = new TraceContext(0xabc, 0xdef, 0x77, TraceContext.SAMPLED, "v=1");

    @TempDir
    private Path directory;

    private final List<Seen> seen = new CopyOnWriteArrayList<>();
    private Workers workers;
    private Worker caller;

    /** What an event says of the trace. */
    private record Seen(Kind kind, long id, long high, long low, long span, long callerSpan, boolean isSampled) {

        static Seen of(CallEvent event) {
            return new Seen(
                    event.kind(),
                    event.id(),
                    event.traceIdHigh(),
                    event.traceIdLow(),
                    event.spanId(),
                    event.callerSpanId(),
                    event.isSampled());
        }
    }

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.handleOnPoller(handlers, "text.poller", (message, outbox) -> outbox.respond(Value.NONE));
        workers.handle(handlers, "text.pool", (message, outbox) -> outbox.respond(Value.NONE));
        workers.handle(handlers, "text.later", (message, outbox) -> {
            LateResponse late = outbox.later();
            new Thread(() -> late.send(Value.NONE)).start();
        });
        HandlerRegistry calling = workers.registry();
        CallEvents listener = event -> seen.add(Seen.of(event));
        handlers.events().add("test 1", listener);
        calling.events().add("test 1", listener);
        workers.join("server", handlers);
        caller = workers.join("caller", calling);
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private List<Seen> call(String operation) {
        long id;
        try (Response response = caller.call(Request.operation("server", operation))) {
            id = response.id();
        }
        for (Kind last : List.of(Kind.APPENDED, Kind.RESPONDED, Kind.ENDED)) {
            Waits.until(
                    last + " is seen", () -> seen.stream().anyMatch(each -> each.id() == id && each.kind() == last));
        }
        return seen.stream()
                .filter(each -> each.id() == id && each.kind() != Kind.ENDED)
                .toList();
    }

    private long spanOnRecord(long id) {
        return RecordedContexts.of(caller).stream()
                .filter(each -> each.id() == id)
                .findFirst()
                .orElseThrow()
                .span();
    }

    @ParameterizedTest
    @ValueSource(strings = {"text.poller", "text.pool", "text.later", "no.such"})
    void haveTheIdsThatAreOnRecordOnBothSides(String operation) {
        for (boolean isSampled : List.of(true, false)) {
            int flags = isSampled ? TraceContext.SAMPLED : 0;
            TraceContext trace = new TraceContext(0xabc, 0xdef, 0x77, flags, "");
            List<Seen> events = new ArrayList<>();
            CallContext.EMPTY
                    .with(trace)
                    .run(() -> events.addAll(operation.equals("no.such") ? failed(operation) : call(operation)));
            long span = spanOnRecord(events.get(0).id());
            assertThat(span).isNotZero();
            assertThat(events)
                    .hasSizeGreaterThan(1)
                    .allSatisfy(each -> assertThat(each)
                            .isEqualTo(new Seen(each.kind(), each.id(), 0xabc, 0xdef, span, 0x77, isSampled)));
        }
    }

    private List<Seen> failed(String operation) {
        int before = seen.size();
        assertThat(catchThrowable(() -> call(operation))).isNotNull();
        Waits.until(
                "both sides saw it",
                () -> seen.stream()
                                .skip(before)
                                .map(Seen::kind)
                                .filter(kind -> kind != Kind.READ)
                                .distinct()
                                .count()
                        == 3);
        return seen.stream()
                .skip(before)
                .filter(each -> each.kind() != Kind.ENDED)
                .toList();
    }

    @Test
    void haveNoTraceAfterOneThatHad() {
        CallContext.EMPTY.with(TRACE).run(() -> call("text.pool"));
        CallContext.EMPTY
                .with("k", "of another context")
                .run(() -> assertThat(call("text.pool"))
                        .allSatisfy(each ->
                                assertThat(each).isEqualTo(new Seen(each.kind(), each.id(), 0, 0, 0, 0, false))));
        assertThat(call("text.pool"))
                .allSatisfy(each -> assertThat(each).isEqualTo(new Seen(each.kind(), each.id(), 0, 0, 0, 0, false)));
    }
}
