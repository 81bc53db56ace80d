package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls to handlers of patterns, between real workers. */
@Timeout(300)
class PatternCallTest {

    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final MessageHandler GATEWAY =
            (message, outbox) -> outbox.respond(Value.of("gateway " + message.operation()));
    private static final MessageHandler EXACT =
            (message, outbox) -> outbox.respond(Value.of("exact " + message.operation()));

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker caller;

    @BeforeEach
    void joinOne() throws IOException {
        workers = new Workers(directory);
        caller = workers.join("caller");
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private static Value call(Worker caller, String operation) {
        try (Response response =
                caller.call(Request.operation("server", operation).timeout(LIMIT))) {
            return response.value();
        }
    }

    @Test
    void theHandlerOfAPatternSeesWhatWasCalled() throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "*", GATEWAY);
        workers.handleOnPoller(
                handlers, "py.*", (message, outbox) -> outbox.respond(Value.of("py " + message.operation())));
        workers.handle(handlers, "py.exact", EXACT);
        workers.handle(handlers, "type:*", (message, outbox) -> outbox.respond(ByteBuffer.wrap(new byte[] {42})));
        workers.join("server", handlers);

        assertThat(call(caller, "text.count")).isEqualTo(Value.of("gateway text.count"));
        assertThat(call(caller, "py.add")).isEqualTo(Value.of("py py.add"));
        assertThat(call(caller, "py.exact")).isEqualTo(Value.of("exact py.exact"));
        Request typed = Request.raw("server", MessageType.of(0x177), ByteBuffer.wrap(new byte[] {1}), List.of());
        try (Response response = caller.call(typed.timeout(LIMIT))) {
            assertThat(response.payload().get(0)).isEqualTo((byte) 42);
        }
    }

    @Test
    void aSwapUnderLoadLeaksNothingToTheGateway() throws Exception {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "*", GATEWAY);
        HandlerRegistry.Registration exact = workers.handle(handlers, "text.count", EXACT);
        workers.join("server", handlers);

        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int swap = 0; swap < 20; swap++) {
            for (int i = 0; i < 50; i++) {
                calls.add(caller.callAsync(
                        Request.operation("server", "text.count").timeout(LIMIT)));
            }
            exact.withdraw(LIMIT);
            for (int i = 0; i < 50; i++) {
                calls.add(caller.callAsync(
                        Request.operation("server", "text.count").timeout(LIMIT)));
            }
            exact = workers.handle(handlers, "text.count", EXACT);
        }
        for (CompletableFuture<Response> each : calls) {
            try (Response response = each.join()) {
                assertThat(response.value()).isEqualTo(Value.of("exact text.count"));
            }
        }
    }

    @Test
    void whatParkedGoesToTheGatewayWhenNoHandlerReturns() throws IOException {
        HandlerRegistry handlers =
                workers.registry(new ParkingSettings(100, Duration.ofSeconds(3).toNanos()));
        workers.handle(handlers, "*", GATEWAY);
        HandlerRegistry.Registration exact = workers.handle(handlers, "text.count", EXACT);
        Worker server = workers.join("server", handlers);
        assertThat(call(caller, "text.count")).isEqualTo(Value.of("exact text.count"));
        exact.withdraw(LIMIT);

        assertThat(call(caller, "text.count")).isEqualTo(Value.of("gateway text.count"));
        assertThat(server.counters().requestsParked())
                .as("requests that parked before they went to the gateway")
                .isEqualTo(1);
        assertThat(handlers.parkedRequests()).isZero();
    }

    @Test
    void whatFindsTheGatewayBusyWaitsInTheOrderOfItsOperation() throws Exception {
        HandlerRegistry handlers = workers.registry();
        CountDownLatch hold = new CountDownLatch(1);
        List<String> ran = new ArrayList<>(); // one thread runs them
        workers.handleOneByOne(handlers, "py.*", (message, outbox) -> {
            Waits.until("it may run", () -> hold.getCount() == 0);
            ran.add(message.operation() + message.int64("n"));
            outbox.respond(Value.of("done"));
        });
        workers.join("server", handlers);

        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            Request request = Request.operation("server", "py.op").timeout(LIMIT);
            request.body().int64("n", i);
            calls.add(caller.callAsync(request));
        }
        Waits.until("most are parked", () -> handlers.parkedRequests() >= 8);
        assertThat(handlers.statuses())
                .filteredOn(status -> status.key().text().equals("py.*"))
                .singleElement()
                .satisfies(status -> assertThat(status.parked()).isGreaterThanOrEqualTo(8));
        hold.countDown();
        calls.forEach(each -> each.join().close());
        assertThat(ran)
                .containsExactly(
                        "py.op0", "py.op1", "py.op2", "py.op3", "py.op4", "py.op5", "py.op6", "py.op7", "py.op8",
                        "py.op9");
    }
}
