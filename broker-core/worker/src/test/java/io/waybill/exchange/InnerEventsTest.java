package io.waybill.exchange;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What listeners see of messages inside others. */
@Timeout(180)
class InnerEventsTest {

    private static final int KIND = 0x50;

    @TempDir
    private Path directory;

    private final List<String> seen = new CopyOnWriteArrayList<>();
    private final CountDownLatch hanging = new CountDownLatch(1);
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.join("server", handlers);
        caller = workers.join("caller");
        workers.handleOnPoller(handlers, "text.poller", (message, outbox) -> outbox.respond(Value.of("inner")));
        workers.handle(handlers, "text.pool", (message, outbox) -> outbox.respond(Value.of("inner")));
        workers.handle(handlers, "text.bad", (message, outbox) -> {
            throw new IllegalStateException("planted");
        });
        workers.handle(handlers, "text.later", (message, outbox) -> {
            LateResponse late = outbox.later();
            new Thread(() -> late.send(Value.of("inner"))).start();
        });
        workers.handle(handlers, "0x150", Wrapping.BLOCKING);
        Wrapping.add(caller, "text.*", KIND, 0);
    }

    @AfterEach
    void leave() throws IOException {
        hanging.countDown();
        workers.close();
    }

    private void listen(CallEvents listener) {
        handlers.events().add("org.acme.listener 1", listener);
    }

    private void record(CallEvent event) {
        if (event.kind() == CallEvent.Kind.BEGUN || event.kind() == CallEvent.Kind.RESPONDED) {
            seen.add(event.depth() + " " + event.kind() + " " + event.operation()
                    + (event.error() == null ? "" : " " + event.error()));
        }
    }

    private static Request request(String operation) {
        return Request.operation("server", operation).timeout(Duration.ofSeconds(60));
    }

    private void awaitEvents(int count) {
        Waits.until(() -> count + " events: " + seen, () -> seen.size() >= count);
    }

    @ParameterizedTest
    @ValueSource(strings = {"text.poller", "text.pool", "text.later"})
    void showsTheHandlerInsideWithTheIdOfItsRequest(String operation) {
        List<Long> ids = new CopyOnWriteArrayList<>();
        listen(event -> {
            ids.add(event.id());
            record(event);
        });
        long id;
        try (Response response = caller.call(request(operation))) {
            id = response.id();
        }
        awaitEvents(4);
        assertThat(seen)
                .containsExactlyInAnyOrder(
                        "0 BEGUN USER_0X50_CALL",
                        "1 BEGUN " + operation,
                        "1 RESPONDED " + operation,
                        "0 RESPONDED USER_0X50_CALL")
                .startsWith("0 BEGUN USER_0X50_CALL", "1 BEGUN " + operation);
        assertThat(ids).containsOnly(id);
    }

    @ParameterizedTest
    @ValueSource(strings = {"text.poller", "text.pool", "text.later"})
    void namesTheProvidersOfBothHandlers(String operation) {
        List<String> by = new CopyOnWriteArrayList<>();
        listen(event -> by.add(event.depth() + " " + event.kind() + " " + event.responder()));
        caller.call(request(operation)).close();
        Waits.until(
                () -> "both responses are reported: " + by,
                () -> by.stream().filter(seen -> seen.contains(" RESPONDED ")).count() == 2);
        assertThat(by)
                .contains("0 BEGUN test-0x150 1.0.0", "1 BEGUN test-" + operation + " 1.0.0")
                .contains("1 RESPONDED test-" + operation + " 1.0.0", "0 RESPONDED test-0x150 1.0.0")
                .as("other kinds name none")
                .contains("0 READ ");
    }

    @ParameterizedTest
    @CsvSource({"text.bad, HANDLER_FAILED, 4", "text.unknown, UNKNOWN_OPERATION, 3"})
    void showsItsError(String operation, String error, int events) {
        listen(this::record);
        assertThatThrownBy(() -> caller.call(request(operation))).isInstanceOf(CallException.class);
        awaitEvents(events);
        assertThat(seen)
                .hasSize(events)
                .contains("1 RESPONDED " + operation + " " + error, "0 RESPONDED USER_0X50_CALL " + error);
    }

    @Test
    void showsEnvelopesInEachOther() {
        workers.handle(handlers, "0x151", Wrapping.ASYNC);
        Wrapping.add(caller, "text.*", 0x51, -1);
        listen(this::record);
        caller.call(request("text.pool")).close();
        awaitEvents(6);
        assertThat(seen)
                .startsWith("0 BEGUN USER_0X51_CALL", "1 BEGUN USER_0X50_CALL", "2 BEGUN text.pool")
                .contains("2 RESPONDED text.pool", "1 RESPONDED USER_0X50_CALL", "0 RESPONDED USER_0X51_CALL");
    }

    @ParameterizedTest
    @ValueSource(strings = {"BEGUN", "RESPONDED"})
    void aListenerThatHangsInsideDelaysItsCallAndIsDropped(CallEvent.Kind kind) {
        listen(event -> {
            if (event.depth() == 1 && event.kind() == kind) {
                try {
                    hanging.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        });
        try (Response response = caller.call(request("text.pool"))) {
            assertThat(response.value()).isEqualTo(Value.of("inner"));
        }
        Waits.until("the listener is dropped", () -> handlers.events().isEmpty());
        caller.call(request("text.pool")).close();
    }

    @Test
    void aListenerThatThrowsInsideAffectsNoCall() {
        listen(event -> {
            if (event.depth() == 1) {
                throw new StackOverflowError("planted");
            }
        });
        for (int i = 0; i < 10; i++) {
            caller.call(request("text.pool")).close();
        }
    }
}
