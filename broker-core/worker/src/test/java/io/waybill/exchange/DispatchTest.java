package io.waybill.exchange;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.Drained;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.Provider;
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
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages inside others: a call is wrapped at its caller, and dispatched to its handler at its callee. */
@Timeout(300)
class DispatchTest {

    private static final int KIND = 0x50;

    @TempDir
    private Path directory;

    private final CountDownLatch released = new CountDownLatch(1);
    private final List<String> seen = new CopyOnWriteArrayList<>();
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        server = workers.join("server", handlers);
        caller = workers.join("caller");
        workers.handle(handlers, "text.pool", (message, outbox) -> outbox.respond(described(message)));
        workers.handleOnPoller(handlers, "text.poller", (message, outbox) -> outbox.respond(described(message)));
        workers.handle(handlers, "text.later", (message, outbox) -> {
            LateResponse late = outbox.later();
            Value value = described(message);
            new Thread(() -> late.send(value)).start();
        });
        workers.handle(handlers, "text.refused", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "not today");
        });
        workers.handle(handlers, "text.error", (message, outbox) -> {
            throw new AssertionError("planted in the inner handler");
        });
        workers.handleOnPoller(handlers, "text.bad", (message, outbox) -> {
            throw new IllegalStateException("planted in the inner handler");
        });
        workers.handle(handlers, "text.none", (message, outbox) -> {});
        workers.handle(handlers, "text.hangs", (message, outbox) -> await());
        workers.handle(handlers, "text.never", (message, outbox) -> outbox.later());
    }

    private Value described(io.waybill.api.Message message) throws RejectedMessageException {
        seen.add(Thread.currentThread().getName());
        return Value.of(message.operation() + " " + message.int64("n") + " from "
                + message.caller().name());
    }

    private void await() {
        try {
            released.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @AfterEach
    void leave() throws IOException {
        released.countDown();
        workers.close();
    }

    private void envelope(String form) {
        switch (form) {
            case "blocking" -> workers.handle(handlers, "0x150", Wrapping.BLOCKING);
            case "async" -> workers.handle(handlers, "0x150", Wrapping.ASYNC);
            default -> workers.handleOnPoller(handlers, "0x150", Wrapping.ASYNC);
        }
        Wrapping.add(caller, "text.*", KIND, 0);
    }

    private static Request request(String operation, int n, Duration timeout) {
        Request request = Request.operation("server", operation).timeout(timeout);
        request.body().int64("n", n);
        return request;
    }

    private static Request request(String operation) {
        return request(operation, 7, Duration.ofSeconds(20));
    }

    private long inFlight() {
        return handlers.statuses().stream().mapToLong(HandlerStatus::inFlight).sum();
    }

    @ParameterizedTest
    @CsvSource({
        "blocking, text.pool", "blocking, text.poller", "blocking, text.later",
        "async, text.pool", "async, text.poller", "async, text.later",
        "poller, text.pool", "poller, text.poller", "poller, text.later"
    })
    void respondsToAWrappedCallAsToABareOne(String form, String operation) {
        String bare;
        try (Response response = caller.call(request(operation))) {
            bare = response.value().toString();
        }
        envelope(form);
        for (int i = 0; i < 50; i++) {
            try (Response response = caller.call(request(operation))) {
                assertThat(response.type()).isEqualTo(MessageType.NAMED_RET);
                assertThat(response.value()).hasToString(bare);
            }
        }
        Waits.until("nothing is in flight", () -> inFlight() == 0);
        assertThat(handlers.statuses())
                .filteredOn(status -> status.key().text().equals(operation))
                .singleElement()
                .extracting(HandlerStatus::done)
                .isEqualTo(51L);
    }

    @Test
    void runsABlockingInnerHandlerOnTheThreadsOfItsOwnBundle() {
        envelope("blocking");
        caller.call(request("text.pool")).close();
        assertThat(seen).singleElement().asString().startsWith("test-text.pool-handler-");
    }

    @ParameterizedTest
    @CsvSource({
        "text.refused, REFUSED, UNKNOWN_ERROR, not today",
        "text.error, HANDLER_FAILED, UNKNOWN_ERROR, planted in the inner handler",
        "text.bad, HANDLER_FAILED, UNKNOWN_ERROR, planted in the inner handler",
        "text.none, NO_RESPONSE, UNKNOWN_ERROR, without a response to text.none",
        "text.unknown, UNKNOWN_OPERATION, UNKNOWN_ERROR, no handler for the operation text.unknown"
    })
    void failsAWrappedCallAsABareOne(String operation, ErrorCode code, ErrorKind kind, String text) {
        CallException bare = failureOf(operation);
        assertThat(bare.code()).isEqualTo(code);
        envelope("blocking");
        CallException wrapped = failureOf(operation);
        assertThat(wrapped.getMessage()).isEqualTo(bare.getMessage()).contains(text);
        assertThat(wrapped.code()).isEqualTo(code);
        assertThat(wrapped.kind()).isEqualTo(kind);
        Waits.until("nothing is in flight", () -> inFlight() == 0);
    }

    private CallException failureOf(String operation) {
        try {
            caller.call(request(operation)).close();
        } catch (CallException e) {
            return e;
        }
        throw new AssertionError("expected " + operation + " to fail");
    }

    @ParameterizedTest
    @ValueSource(strings = {"text.hangs", "text.never"})
    void givesTheOuterHandlerATimeoutWhenTheInnerOneDoesNotRespond(String operation) {
        List<CallException> caught = new CopyOnWriteArrayList<>();
        workers.handle(handlers, "0x150", Wrapping.catching(caught));
        Wrapping.add(caller, "text.*", KIND, 0);
        Waits.until("the outer handler got a failure", () -> timesOut(operation) && !caught.isEmpty());
        assertThat(caught.get(0).kind()).isEqualTo(ErrorKind.TIMEOUT);
        assertThat(caught.get(0).code()).isEqualTo(ErrorCode.TIMED_OUT);
        Waits.until("the outer handler returned", () -> inFlightOf("0x150") == 0);
        caller.call(request("text.pool")).close();
    }

    /** Makes a call that times out, most often inside its handlers. */
    private boolean timesOut(String operation) {
        assertThatThrownBy(() -> caller.call(request(operation, 1, Duration.ofMillis(300))))
                .isInstanceOf(CallException.class);
        return true;
    }

    private long inFlightOf(String key) {
        return handlers.statuses().stream()
                .filter(status -> HandlerKey.parse(key).equals(status.key()))
                .mapToLong(HandlerStatus::inFlight)
                .sum();
    }

    @Test
    void failsAnAsynchronousDispatchAtTheDeadlineAndDropsWhatComesLater() {
        List<String> outcomes = new CopyOnWriteArrayList<>();
        workers.handle(handlers, "0x150", (message, outbox) -> {
            LateResponse late = outbox.later();
            ByteBuffer payload = message.payload();
            outbox.dispatchAsync(Wrapping.innerType(payload), Wrapping.inner(payload), List.of(), List.of())
                    .whenComplete((response, failure) -> {
                        outcomes.add(
                                failure == null
                                        ? "response"
                                        : ((CallException) failure).code().name());
                        late.fail(ErrorCode.REFUSED, "ended");
                    });
        });
        Wrapping.add(caller, "text.*", KIND, 0);
        Waits.until("the future failed", () -> timesOut("text.hangs") && !outcomes.isEmpty());
        released.countDown();
        Waits.until("nothing is in flight", () -> inFlight() == 0);
        assertThat(outcomes).startsWith("TIMED_OUT");
    }

    @Test
    void runsEnvelopesInsideEnvelopes() {
        workers.handle(handlers, "0x150", Wrapping.BLOCKING);
        workers.handle(handlers, "0x151", Wrapping.ASYNC);
        Wrapping.add(caller, "text.*", 0x50, 1);
        Wrapping.add(caller, "text.*", 0x51, 0);
        try (Response response = caller.call(request("text.pool"))) {
            assertThat(response.value())
                    .isEqualTo(Value.of("text.pool 7 from " + caller.info().name()));
        }
    }

    @Test
    void refusesMoreEnvelopesInEachOtherThanMayBe() {
        workers.handle(handlers, "0x150", Wrapping.BLOCKING);
        ByteBuffer payload = ByteBuffer.allocate(0);
        for (int i = 0; i < 9; i++) {
            payload = Wrapping.wrap(0x150, payload);
        }
        Request request = Request.raw("server", MessageType.userRequest(KIND), payload, List.of());
        assertThatThrownBy(() -> caller.call(request))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.REFUSED))
                .hasMessageContaining("at most 8 messages inside each other")
                .hasMessageContaining("USER_0X50_CALL > USER_0X50_CALL");
        Waits.until("nothing is in flight", () -> inFlight() == 0);
    }

    @Test
    void doesNotExhaustThreadsThatWaitForEachOther() throws Exception {
        ExecutorSettings two = new ExecutorSettings(2, 2, 0, 0, Duration.ofSeconds(10));
        Provider provider = new Provider("one-bundle", "1.0.0");
        var executor = handlers.newExecutor(provider, two);
        for (var each : List.of(
                new Handled("0x150", Wrapping.BLOCKING),
                new Handled("text.own", (message, outbox) -> outbox.respond(Value.of("own"))))) {
            handlers.add(new HandlerSpec(
                    List.of(HandlerKey.parse(each.key())),
                    each.handler(),
                    false,
                    provider,
                    0,
                    getClass().getClassLoader(),
                    executor));
        }
        workers.handle(handlers, "text.narrow", (message, outbox) -> outbox.respond(Value.of("narrow")), two);
        Wrapping.add(caller, "text.*", KIND, 0);
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            calls.add(caller.callAsync(request(i % 2 == 0 ? "text.own" : "text.narrow")));
        }
        Response.all(calls).get(60, TimeUnit.SECONDS).forEach(Response::close);
        Waits.until("nothing is in flight", () -> inFlight() == 0);
    }

    private record Handled(String key, MessageHandler handler) {}

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "async", "poller"})
    void parksTheInnerMessageWhileItsHandlerIsReplaced(String form) throws Exception {
        envelope(form);
        HandlerRegistry.Registration first =
                workers.handle(handlers, "text.swapped", (message, outbox) -> outbox.respond(Value.of("first")));
        caller.call(request("text.swapped")).close();
        first.withdraw(Duration.ofSeconds(10));
        CompletableFuture<Response> call = caller.callAsync(request("text.swapped"));
        Waits.until("the envelope is in flight", () -> inFlightOf("0x150") == 1);
        workers.handle(handlers, "text.swapped", (message, outbox) -> outbox.respond(Value.of("second")));
        try (Response response = call.get(20, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("second"));
        }
        Waits.until("nothing is in flight", () -> inFlight() == 0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "async", "poller"})
    void countsTheInnerMessageInFlightUntilItsHandlerEnded(String form) throws Exception {
        envelope(form);
        HandlerRegistry.Registration slow = workers.handle(handlers, "text.slow", (message, outbox) -> {
            await();
            outbox.respond(Value.of("done"));
        });
        CompletableFuture<Response> call = caller.callAsync(request("text.slow"));
        Waits.until("both are in flight", () -> inFlightOf("text.slow") == 1 && inFlightOf("0x150") == 1);
        CompletableFuture<Drained> drained = CompletableFuture.supplyAsync(() -> slow.withdraw(Duration.ofSeconds(60)));
        Waits.until(
                "it left the table",
                () -> handlers.statuses().stream().anyMatch(status -> status.state() == HandlerInfo.State.DRAINING));
        assertThat(drained).isNotDone();
        released.countDown();
        assertThat(drained.get(60, TimeUnit.SECONDS).isComplete()).isTrue();
        call.get(20, TimeUnit.SECONDS).close();
    }

    @Test
    void asksTheAccessPolicyAboutTheInnerMessage() {
        List<String> asked = new CopyOnWriteArrayList<>();
        handlers.policies().add(new Provider("policy", "1"), request -> {
            asked.add(request.workerName() + " " + request.operation() + " " + request.isOwn());
            return request.operation().equals("text.pool") ? Decision.deny("not this one") : Decision.allow();
        });
        envelope("blocking");
        caller.call(request("text.poller")).close();
        assertThat(asked).containsExactly("caller USER_0X50_CALL false", "caller text.poller false");
        assertThatThrownBy(() -> caller.call(request("text.pool")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.ACCESS_DENIED))
                .hasMessageContaining("text.pool is refused to worker caller")
                .hasMessageContaining("not this one");
    }

    @Test
    void findsTheInnerHandlerByWildcard() {
        envelope("blocking");
        workers.handle(handlers, "py.*", (message, outbox) -> outbox.respond(Value.of(message.operation())));
        Wrapping.add(caller, "py.*", KIND, 0);
        try (Response response = caller.call(request("py.numpy.dot"))) {
            assertThat(response.value()).isEqualTo(Value.of("py.numpy.dot"));
        }
    }

    @Test
    void refusesToWaitInANonBlockingHandler() {
        workers.handleOnPoller(handlers, "0x150", Wrapping.BLOCKING);
        Wrapping.add(caller, "text.*", KIND, 0);
        // the first call: behind a slow one the handler runs on its bundle's threads, where it may wait
        assertThatThrownBy(() -> caller.call(request("text.pool")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_FAILED))
                .hasMessageContaining("must not wait");
        caller.call(request("text.poller")).close();
        Waits.until("nothing is in flight", () -> inFlight() == 0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"RREF_USER_DELETE", "NAMED_RET", "0x1f0"})
    void refusesControlMessagesAndResponsesInside(String type) {
        workers.handle(
                handlers,
                "0x150",
                (message, outbox) -> outbox.dispatch(
                        MessageType.named(type).orElseThrow(), message.payload(), List.of(), List.of()));
        Request request = Request.raw("server", MessageType.userRequest(KIND), ByteBuffer.allocate(3), List.of());
        assertThatThrownBy(() -> caller.call(request)).hasMessageContaining("none of the broker's own");
        Waits.until("nothing is in flight", () -> inFlight() == 0);
    }

    @Test
    void dispatchesOnTheHandlersThreadAlone() {
        List<Throwable> thrown = new CopyOnWriteArrayList<>();
        workers.handle(handlers, "0x150", (message, outbox) -> {
            ByteBuffer inner = Wrapping.inner(message.payload());
            Thread other = new Thread(() -> {
                try {
                    outbox.dispatch(MessageType.NAMED_CALL, inner, List.of(), List.of());
                } catch (IllegalStateException e) {
                    thrown.add(e);
                }
            });
            other.start();
            try {
                other.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            Wrapping.BLOCKING.handle(message, outbox);
        });
        Wrapping.add(caller, "text.*", KIND, 0);
        caller.call(request("text.pool")).close();
        assertThat(thrown).singleElement().isInstanceOf(IllegalStateException.class);
    }

    @Test
    void dispatchesSeveralMessagesOfOne() {
        AtomicInteger sum = new AtomicInteger();
        workers.handle(handlers, "0x150", (message, outbox) -> {
            List<CompletableFuture<Response>> inner = new ArrayList<>();
            ByteBuffer payload = Wrapping.inner(message.payload());
            for (int i = 0; i < 20; i++) {
                inner.add(outbox.dispatchAsync(MessageType.NAMED_CALL, payload, List.of(), List.of()));
            }
            for (CompletableFuture<Response> each : inner) {
                each.join().close();
                sum.incrementAndGet();
            }
            Wrapping.BLOCKING.handle(message, outbox);
        });
        Wrapping.add(caller, "text.*", KIND, 0);
        caller.call(request("text.pool")).close();
        assertThat(sum.get()).isEqualTo(20);
        Waits.until("nothing is in flight", () -> inFlight() == 0);
        assertThat(server.info().name()).isEqualTo("server");
    }
}
