package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(180)
class CallTest {

    @TempDir
    private Path directory;

    private Workers workers;
    private HandlerRegistry handlers;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.join("server", handlers);
        caller = workers.join("caller");
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private static Request raw(String to, String text) {
        return Request.raw(
                to, MessageType.userRequest(0x42), ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), List.of());
    }

    private static String text(Response response) {
        return StandardCharsets.UTF_8.decode(response.payload()).toString();
    }

    @Test
    void respondsToABlockingCall() {
        workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));

        Response response = caller.call(raw("server", "to be"));

        assertThat(text(response)).isEqualTo("to be");
        assertThat(response.type()).isEqualTo(MessageType.of(0x242));
        assertThat(MessageId.worker(response.id())).isEqualTo(caller.info().id());
    }

    @Test
    void completesAFuture() throws Exception {
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));

        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            calls.add(caller.callAsync(raw("server", "call " + i)));
        }

        for (int i = 0; i < 1000; i++) {
            assertThat(text(calls.get(i).get(20, TimeUnit.SECONDS))).isEqualTo("call " + i);
        }
    }

    @Test
    void notifiesAListenerOnce() throws Exception {
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        AtomicInteger notified = new AtomicInteger();
        CountDownLatch first = new CountDownLatch(1);

        caller.call(raw("server", "x"), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                notified.incrementAndGet();
                first.countDown();
            }

            @Override
            public void onFailure(CallException failure) {
                notified.addAndGet(100);
                first.countDown();
            }
        });

        assertThat(first.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(notified).hasValue(1);
    }

    @Test
    void callsAnOperationByName() {
        workers.handle(
                handlers,
                "text.count",
                (message, outbox) -> outbox.response()
                        .int64("words", message.text("text").split(" ").length)
                        .text("operation", message.operation()));
        Request request = Request.operation("server", "text.count");
        request.body().text("text", "to be or not");

        Response response = caller.call(request);

        assertThat(response.int64("words")).isEqualTo(4);
        assertThat(response.text("operation")).isEqualTo("text.count");
        assertThatThrownBy(() -> response.text("words"))
                .isInstanceOf(CallException.class)
                .hasMessageContaining("words");
    }

    @Test
    void callsByIdAsWellAsByName() {
        workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));

        assertThat(text(caller.call(raw("0", "by id")))).isEqualTo("by id");
    }

    @Test
    void callsItselfThroughItsJournals() {
        HandlerRegistry own = workers.registry();
        workers.handle(own, "0x142", (message, outbox) -> outbox.respond(message.payload()));

        try (Worker self = workers.join("self", own)) {
            assertThat(text(self.call(raw("self", "me")))).isEqualTo("me");
            assertThat(self.counters().requestsBegun()).isEqualTo(1);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void reportsWhatAHandlerRefuses() {
        workers.handle(handlers, "0x142", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "not today");
        });

        assertThatThrownBy(() -> caller.call(raw("server", "x"))).isInstanceOfSatisfying(CallException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.REFUSED);
            assertThat(e.kind()).isEqualTo(ErrorKind.UNKNOWN_ERROR);
            assertThat(e).hasMessage("not today");
        });
    }

    @Test
    void reportsWhatAHandlerThrowsAndServesOn() {
        AtomicInteger calls = new AtomicInteger();
        workers.handle(handlers, "0x142", (message, outbox) -> {
            if (calls.incrementAndGet() == 1) {
                throw new IllegalStateException("broken");
            }
            outbox.respond(message.payload());
        });

        assertThatThrownBy(() -> caller.call(raw("server", "x")))
                .isInstanceOf(CallException.class)
                .hasMessage("Error on Node 0: java.lang.IllegalStateException: broken");
        assertThat(text(caller.call(raw("server", "again")))).isEqualTo("again");
    }

    @Test
    void survivesAHandlerThatExhaustsMemory() {
        workers.handle(handlers, "0x142", (message, outbox) -> {
            List<long[]> hoard = new ArrayList<>();
            while (true) {
                hoard.add(new long[Integer.MAX_VALUE - 8]);
            }
        });
        workers.handle(handlers, "0x143", (message, outbox) -> outbox.respond(message.payload()));

        assertThatThrownBy(() -> caller.call(raw("server", "x")))
                .isInstanceOf(CallException.class)
                .hasMessageContaining("OutOfMemoryError");
        Request other = Request.raw("server", MessageType.userRequest(0x43), ByteBuffer.allocate(1), List.of());
        assertThat(caller.call(other).payload().remaining()).isEqualTo(1);
    }

    @Test
    void reportsAHandlerThatGivesNoResponse() {
        workers.handle(handlers, "0x142", (message, outbox) -> {});

        assertThatThrownBy(() -> caller.call(raw("server", "x")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NO_RESPONSE));
    }

    @Test
    void takesADeferredResponse() {
        AtomicReference<LateResponse> kept = new AtomicReference<>();
        CountDownLatch handled = new CountDownLatch(1);
        workers.handle(handlers, "0x142", (message, outbox) -> {
            kept.set(outbox.later());
            handled.countDown();
        });
        CompletableFuture<Response> call = caller.callAsync(raw("server", "x"));
        await(handled);

        kept.get().body().text("said", "later");
        kept.get().send();
        kept.get().fail(ErrorCode.REFUSED, "too late to refuse");

        assertThat(call.join().text("said")).isEqualTo("later");
    }

    @Test
    void namesAnUnknownTypeAndAnUnknownOperation() {
        assertThatThrownBy(() -> caller.call(raw("server", "x")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_TYPE))
                .hasMessageContaining("USER_0X42_CALL");
        assertThatThrownBy(() -> caller.call(Request.operation("server", "no.such")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION))
                .hasMessageContaining("no.such");
    }

    @Test
    void namesAnUnknownWorkerWithPyTorchsWords() {
        assertThatThrownBy(() -> caller.call(raw("nobody", "x")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_WORKER))
                .hasMessageContaining("name:caller,rank:")
                .hasMessageEndingWith(" could not find destination name nobody");
        assertThatThrownBy(() -> caller.call(raw("777", "x")))
                .hasMessageEndingWith(" could not find destination id 777");
    }

    @Test
    void namesTheMostSimilarOperation() {
        workers.handle(handlers, "text.count", (message, outbox) -> outbox.response());
        workers.handle(handlers, "pay.charge", (message, outbox) -> outbox.response());

        assertThatThrownBy(() -> caller.call(Request.operation("server", "text.cuont")))
                .hasMessageEndingWith(
                        "no handler for the operation text.cuont here; the most similar one is text.count");
        assertThatThrownBy(() -> caller.call(Request.operation("server", "rows.delete")))
                .hasMessageEndingWith("no handler for the operation rows.delete here");
        workers.handle(handlers, "a.ls", (message, outbox) -> outbox.response());
        assertThatThrownBy(() -> caller.call(Request.operation("server", "rows.data.ls")))
                .as("an operation that has the name of another one at its end")
                .hasMessageEndingWith("no handler for the operation rows.data.ls here");
    }

    /** A call without waiting has one way to fail. */
    @Test
    void failsAnAsynchronousCallByItsFutureAlone() throws IOException {
        failsByItsFuture(caller.callAsync(raw("nobody", "x")), ErrorCode.UNKNOWN_WORKER);
        Invocation call = new Invocation("test::one", List.of(), Map.of());
        failsByItsFuture(caller.rpc().rpcAsync("nobody", call), ErrorCode.UNKNOWN_WORKER);
        failsByItsFuture(caller.claimAsync(MessageId.of(777, 1), Duration.ofSeconds(1)), ErrorCode.UNKNOWN_CALL);
        RRef reference = caller.rpc().rref(Value.of(1));
        reference.close();
        failsByItsFuture(reference.toHereAsync(Duration.ofSeconds(1)), ErrorCode.REFERENCE_DELETED);
        caller.close();
        failsByItsFuture(caller.callAsync(raw("server", "x")), ErrorCode.CLOSED);
        failsByItsFuture(caller.repeatAsync(MessageId.of(caller.info().id(), 1), Duration.ZERO), ErrorCode.CLOSED);
        assertThatThrownBy(() -> caller.callAsync(null)).isInstanceOf(NullPointerException.class);
    }

    private static void failsByItsFuture(CompletableFuture<?> call, ErrorCode code) {
        assertThat(call).isCompletedExceptionally();
        assertThatThrownBy(call::join)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(code));
    }

    @Test
    void refusesToCallWhoHasLeft() throws IOException {
        workers.join("gone").close();

        assertThatThrownBy(() -> caller.call(raw("gone", "x")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.WORKER_LOST))
                .hasMessageContaining("left");
    }

    @Test
    void completesCallsWhenTheirWorkerLeaves() throws IOException {
        HandlerRegistry slow = workers.registry();
        CountDownLatch never = new CountDownLatch(1);
        workers.handle(slow, "0x142", (message, outbox) -> await(never));
        Worker leaving = workers.join("leaving", slow);
        CompletableFuture<Response> call = caller.callAsync(raw("leaving", "x"));

        leaving.close();

        assertThatThrownBy(() -> call.get(20, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.WORKER_LOST));
        never.countDown();
    }

    @Test
    void timesOutWithPyTorchsWordsAndDropsTheLateResponse() {
        CountDownLatch hold = new CountDownLatch(1);
        workers.handle(handlers, "0x142", (message, outbox) -> {
            await(hold);
            outbox.respond(message.payload());
        });

        assertThatThrownBy(() -> caller.call(raw("server", "x").timeout(Duration.ofSeconds(1))))
                .isInstanceOfSatisfying(CallException.class, e -> {
                    assertThat(e.kind()).isEqualTo(ErrorKind.TIMEOUT);
                    assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT);
                })
                .hasMessageStartingWith(
                        "RPCErr:1:RPC ran for more than set timeout (1000 ms) and will now be marked with an error");
        hold.countDown();
        Waits.until("the late response was counted", () -> caller.counters().lateResponses() == 1);
    }

    @Test
    void doesNotTakeATimeoutBelowAMillisecondForNone() {
        CountDownLatch hold = new CountDownLatch(1);
        workers.handle(handlers, "0x142", (message, outbox) -> await(hold));

        assertThatThrownBy(() -> caller.call(raw("server", "x").timeout(Duration.ofNanos(400_000))))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.kind()).isEqualTo(ErrorKind.TIMEOUT));
        hold.countDown();
    }

    @Test
    void dropsARequestWhoseDeadlineHasPassed() {
        AtomicInteger begun = new AtomicInteger();
        handlers.expectMore(); // so that it waits

        assertThatThrownBy(() -> caller.call(raw("server", "x").timeout(Duration.ofMillis(200))))
                .isInstanceOf(CallException.class);
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> {
            begun.incrementAndGet();
            outbox.respond(message.payload());
        });

        Waits.until("its late error came", () -> caller.counters().lateResponses() == 1);
        caller.call(raw("server", "later"));
        assertThat(begun).hasValue(1);
    }

    @Test
    void refusesToBlockWhereThatWouldStopThePoller() {
        workers.handleOnPoller(
                handlers, "0x142", (message, outbox) -> outbox.caller().call(raw("caller", "nested")));

        assertThatThrownBy(() -> caller.call(raw("server", "x")))
                .isInstanceOf(CallException.class)
                .hasMessageContaining("must not wait for another worker");
    }

    @Test
    void servesOthersWhileANonBlockingHandlerDoesNotComeBack() {
        CountDownLatch never = new CountDownLatch(1);
        workers.handleOnPoller(handlers, "0x143", (message, outbox) -> await(never));
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        CompletableFuture<Response> stuck = caller.callAsync(
                Request.raw("server", MessageType.userRequest(0x43), ByteBuffer.allocate(0), List.of()));

        for (int i = 0; i < 100; i++) {
            assertThat(text(caller.call(raw("server", "on " + i)))).isEqualTo("on " + i);
        }

        assertThat(stuck).isNotDone();
        never.countDown();
    }

    @Test
    void nestsCallsDeepWithoutDeadlock() throws IOException {
        HandlerRegistry back = workers.registry();
        workers.join("back", back);
        workers.handle(
                handlers, "0x142", (message, outbox) -> descend(message.payload(), outbox.caller(), outbox, "back"));
        workers.handle(
                back, "0x142", (message, outbox) -> descend(message.payload(), outbox.caller(), outbox, "server"));
        Request request = Request.raw(
                "server", MessageType.userRequest(0x42), ByteBuffer.allocate(4).putInt(0, 300), List.of());

        Response response = caller.call(request);

        assertThat(response.payload().getInt(0)).isEqualTo(300);
    }

    private static void descend(
            ByteBuffer payload, io.waybill.api.Caller calls, io.waybill.api.handler.Outbox outbox, String next) {
        int depth = payload.getInt(payload.position());
        int below = 0;
        if (depth > 0) {
            below = calls.call(Request.raw(
                                    next,
                                    MessageType.userRequest(0x42),
                                    ByteBuffer.allocate(4).putInt(0, depth - 1),
                                    List.of()))
                            .payload()
                            .getInt(0)
                    + 1;
        }
        outbox.respond(ByteBuffer.allocate(4).putInt(0, below));
    }

    @Test
    void carriesTheParentAndTheDeadlineOfTheRequestThatANestedCallIsMadeFor() throws IOException {
        HandlerRegistry inner = workers.registry();
        workers.join("inner", inner);
        AtomicReference<Long> parent = new AtomicReference<>();
        AtomicReference<Long> remaining = new AtomicReference<>();
        workers.handle(inner, "0x142", (message, outbox) -> {
            parent.set(message.parentId());
            remaining.set(message.remainingNs());
            outbox.respond(message.payload());
        });
        workers.handle(
                handlers,
                "0x142",
                (message, outbox) -> outbox.respond(outbox.caller()
                        .call(raw("inner", "x").timeout(Duration.ofHours(1)))
                        .payload()));

        Response response = caller.call(raw("server", "x").timeout(Duration.ofSeconds(10)));

        assertThat(parent).hasValue(response.id());
        assertThat(remaining.get()).isBetween(1L, Duration.ofSeconds(10).toNanos());
    }

    @Test
    void failsCallsThatHaveNoOutcomeWhenItCloses() throws IOException {
        CountDownLatch never = new CountDownLatch(1);
        workers.handle(handlers, "0x142", (message, outbox) -> await(never));
        CompletableFuture<Response> call = caller.callAsync(raw("server", "x"));

        caller.close();

        assertThatThrownBy(call::join)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CLOSED));
        assertThatThrownBy(() -> caller.call(raw("server", "x")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CLOSED));
        never.countDown();
    }

    @Test
    void goesOnWhenAListenerThrows() {
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));

        caller.call(raw("server", "x"), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                throw new IllegalStateException("in a listener");
            }

            @Override
            public void onFailure(CallException failure) {}
        });

        assertThat(text(caller.call(raw("server", "y")))).isEqualTo("y");
        Waits.until("the listener's error was counted", () -> caller.counters().listenerErrors() == 1);
    }

    @Test
    void refusesAPayloadOverTheLimitBeforeAnythingIsSent() {
        Request tooLarge =
                Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(2 << 20), List.of());

        assertThatThrownBy(() -> caller.call(tooLarge))
                .isInstanceOfSatisfying(CallException.class, e -> {
                    assertThat(e.code()).isEqualTo(ErrorCode.TOO_LARGE);
                    assertThat(e.messageId()).isEqualTo(MessageId.NONE);
                })
                .hasMessageContaining("1048576");
        assertThat(caller.pendingCalls()).isZero();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
