package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.Drained;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.InterceptorStatus;
import io.waybill.intercept.Interceptors;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Interceptors around the calls of a worker. */
@Timeout(300)
class CallInterceptorTest {

    private static final MessageType ENVELOPE = MessageType.userRequest(0x42);
    private static final MessageType ENVELOPE_RESPONSE = MessageType.of(0x242);
    private static final byte MARK = 42;

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private final CountDownLatch hold = new CountDownLatch(1);
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.join("server", handlers);
        caller = workers.join("caller");
        workers.handle(handlers, "text.echo", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.handle(handlers, "text.bad", (message, outbox) -> {
            throw new IllegalStateException("planted in the handler");
        });
        workers.handle(handlers, "text.slow", (message, outbox) -> {
            hold();
            outbox.respond(Value.of("slow"));
        });
        // returns what came behind the mark, behind a mark
        workers.handle(handlers, "0x142", (message, outbox) -> {
            ByteBuffer payload = message.payload();
            if (payload.get() != MARK) {
                throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "no mark");
            }
            seen.add("server " + payload.remaining() + " bytes");
            outbox.respond(marked(payload));
        });
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private void hold() {
        boolean interrupted = false;
        while (hold.getCount() > 0) {
            try {
                hold.await(60, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                interrupted = true; // it does not care
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static ByteBuffer marked(ByteBuffer payload) {
        return ByteBuffer.allocate(payload.remaining() + 1)
                .put(MARK)
                .put(payload)
                .flip();
    }

    private Interceptors.Registration add(String key, String name, int ranking, CallInterceptor interceptor) {
        return caller.interceptors()
                .calls()
                .add(new InterceptorSpec<>(
                        List.of(HandlerKey.parse(key)), interceptor, new Provider(name, "1.0.0"), ranking));
    }

    /** Wraps a request in the envelope, and takes the response out of it. */
    private static final class Wrapping implements CallInterceptor {
        @Override
        public void onRequest(OutgoingCall call) {
            call.wrap(ENVELOPE, marked(call.payload()));
        }

        @Override
        public void onResponse(IncomingResponse response) {
            ByteBuffer payload = response.response().payload();
            assertThat(response.response().type()).isEqualTo(ENVELOPE_RESPONSE);
            assertThat(payload.get()).isEqualTo(MARK);
            response.unwrap(MessageType.of(0x243), payload);
        }
    }

    /** Notes what it sees. */
    private final class Noting implements CallInterceptor {
        private final String name;

        Noting(String name) {
            this.name = name;
        }

        @Override
        public void onRequest(OutgoingCall call) {
            seen.add(name + " " + call.type());
            call.attach(name);
        }

        @Override
        public void onResponse(IncomingResponse response) {
            seen.add(response.attachment() + " " + response.response().type());
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            seen.add(call.attachment() + " " + failure.code());
        }
    }

    private Request raw() {
        return Request.raw("server", MessageType.userRequest(0x43), ByteBuffer.wrap(new byte[] {1, 2, 3}), List.of());
    }

    private Request echo() {
        return Request.operation("server", "text.echo").timeout(Duration.ofSeconds(20));
    }

    private void wasUnwrapped(Response response) {
        assertThat(response.type()).isEqualTo(MessageType.of(0x243));
        assertThat(response.payload()).isEqualTo(ByteBuffer.wrap(new byte[] {1, 2, 3}));
    }

    @Test
    void wrapsAndUnwrapsCallsOfEachKind() throws Exception {
        add("0x143", "wrapping", 0, new Wrapping());
        try (Response response = caller.call(raw())) {
            wasUnwrapped(response);
        }
        try (Response response = caller.callAsync(raw()).get(20, TimeUnit.SECONDS)) {
            wasUnwrapped(response);
        }
        CompletableFuture<Void> notified = new CompletableFuture<>();
        caller.call(raw(), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                try {
                    wasUnwrapped(response);
                    notified.complete(null);
                } catch (AssertionError e) {
                    notified.completeExceptionally(e);
                }
            }

            @Override
            public void onFailure(CallException failure) {
                notified.completeExceptionally(failure);
            }
        });
        notified.get(20, TimeUnit.SECONDS);
        assertThat(seen).containsExactly("server 3 bytes", "server 3 bytes", "server 3 bytes");
    }

    @Test
    void callsTheHighestRankingFirstAndLast() {
        add("0x143", "low", -1, new Noting("low"));
        add("type:*", "wrapping", 0, new Wrapping());
        add("0x143", "high", 1, new Noting("high"));
        add("text.*", "other", 2, new Noting("other"));
        caller.call(raw()).close();
        assertThat(seen)
                .containsExactly(
                        "high USER_0X43_CALL",
                        "low USER_0X42_CALL",
                        "server 3 bytes",
                        "low USER_0X42_RET",
                        "high USER_0X43_RET");
    }

    @Test
    void namesTheOperationThatTheProgramCalled() {
        add("type:*", "wrapping", 1, new Wrapping());
        add("type:*", "naming", 0, call -> seen.add(call.operation() + " in " + call.type()));
        add("*", "naming", 0, call -> seen.add(call.operation() + " to " + call.to()));
        caller.call(raw()).close();
        caller.call(echo()).close();
        assertThat(seen).containsExactly("USER_0X43_CALL in USER_0X42_CALL", "server 3 bytes", "text.echo to server");
    }

    @Test
    void seesFailures() {
        add("text.*", "noting", 0, new Noting("n"));
        assertThatThrownBy(() -> caller.call(Request.operation("server", "text.bad")))
                .isInstanceOf(CallException.class);
        assertThatThrownBy(() ->
                        caller.call(Request.operation("server", "text.slow").timeout(Duration.ofMillis(50))))
                .isInstanceOf(CallException.class);
        assertThatThrownBy(() ->
                        caller.call(Request.operation("nobody", "text.echo").timeout(Duration.ofMillis(50))))
                .isInstanceOf(CallException.class);
        Waits.until("the interceptor saw three failures", () -> seen.size() == 6);
        assertThat(seen)
                .containsExactlyInAnyOrder(
                        "n NAMED_CALL",
                        "n HANDLER_FAILED",
                        "n NAMED_CALL",
                        "n TIMED_OUT",
                        "n NAMED_CALL",
                        "n UNKNOWN_WORKER");
        nothingIsInFlight();
    }

    @Test
    void failsACallWithItsOwnCode() {
        add("text.echo", "refusing", 0, call -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "not today");
        });
        long before = caller.counters().callsSent();
        assertThatThrownBy(() -> caller.call(echo()))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.REFUSED))
                .hasMessage("not today");
        assertThat(caller.counters().callsSent()).isEqualTo(before);
        nothingIsInFlight();
    }

    @Test
    void doesNotInterceptItsOwnCalls() {
        AtomicInteger calls = new AtomicInteger();
        add("text.*", "calling", 0, call -> {
            calls.incrementAndGet();
            caller.call(echo()).close();
        });
        caller.call(echo()).close();
        assertThat(calls).hasValue(1);
    }

    @Test
    void endsACallByTheVersionThatBeganIt() {
        Interceptors.Registration first = add("text.*", "first", 0, new Noting("first"));
        CompletableFuture<Response> slow = caller.callAsync(Request.operation("server", "text.slow"));
        CompletableFuture<Drained> drained =
                CompletableFuture.supplyAsync(() -> first.withdraw(Duration.ofSeconds(20)));
        Waits.until("the first version is leaving", () -> first.status().leaving());
        add("text.*", "second", 0, new Noting("second"));
        caller.call(echo()).close();
        assertThat(drained).isNotDone();
        hold.countDown();
        slow.join().close();
        assertThat(drained.join().isComplete()).isTrue();
        assertThat(seen)
                .containsExactly("first NAMED_CALL", "second NAMED_CALL", "second NAMED_RET", "first NAMED_RET");
    }

    @Test
    void waitsForTheNextVersionWhileItsProviderIsReplaced() throws Exception {
        Interceptors<CallInterceptor> calls = caller.interceptors().calls();
        Interceptors.Registration first = add("0x143", "wrapping", 0, new Wrapping());
        calls.replacing("wrapping");
        assertThat(first.withdraw(Duration.ofSeconds(20)).isComplete()).isTrue();
        CompletableFuture<Response> waiting = CompletableFuture.supplyAsync(() -> caller.call(raw()));
        assertThatThrownBy(() -> caller.call(raw().timeout(Duration.ofMillis(100))))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT));
        caller.call(echo()).close(); // others don't wait
        add("0x143", "wrapping", 0, new Wrapping());
        assertThat(waiting).isNotDone();
        calls.replaced("wrapping");
        try (Response response = waiting.get(20, TimeUnit.SECONDS)) {
            wasUnwrapped(response);
        }
        assertThat(calls.statuses()).hasSize(1);
    }

    @Test
    void passesWithoutAnInterceptorThatDoesNotComeBack() {
        Interceptors<CallInterceptor> calls = caller.interceptors().calls();
        Interceptors.Registration leaving = add("text.*", "leaving", 0, new Noting("leaving"));
        calls.replacing("leaving");
        leaving.withdraw(Duration.ofSeconds(20));
        calls.replaced("leaving");
        caller.call(echo()).close();
        assertThat(seen).isEmpty();
        assertThat(calls.statuses()).isEmpty();
    }

    @Test
    void failsAWrappedCallWhoseInterceptorLeftBeforeTheResponse() {
        workers.handle(handlers, "0x144", (message, outbox) -> {
            hold();
            outbox.respond(message.payload());
        });
        Interceptors.Registration wrapping =
                add("0x143", "wrapping", 0, call -> call.wrap(MessageType.userRequest(0x44), call.payload()));
        CompletableFuture<Response> wrapped = caller.callAsync(raw());
        assertThat(wrapping.withdraw(Duration.ofMillis(50)).isComplete()).isFalse();
        hold.countDown();
        assertThat(wrapped)
                .failsWithin(Duration.ofSeconds(20))
                .withThrowableThat()
                .withMessageContaining("wrapping 1.0.0");
    }

    /** Where an interceptor misbehaves. */
    enum Position {
        ON_REQUEST,
        ON_RESPONSE,
        ON_FAILURE
    }

    /** How. */
    enum Fault {
        EXCEPTION,
        ERROR,
        UNREADABLE,
        NULL,
        USE_AFTER_END,
        HANG
    }

    private final class Misbehaving implements CallInterceptor {
        private final Position position;
        private final Fault fault;
        private final AtomicInteger happened = new AtomicInteger();
        private OutgoingCall kept;

        Misbehaving(Position position, Fault fault) {
            this.position = position;
            this.fault = fault;
        }

        private void maybe(Position here) {
            if (here != position) {
                return;
            }
            happened.incrementAndGet();
            switch (fault) {
                case EXCEPTION -> throw new IllegalStateException("planted");
                case ERROR -> throw new StackOverflowError("planted");
                case UNREADABLE -> throw new Unreadable();
                case HANG -> hold();
                default -> {}
            }
        }

        @Override
        public void onRequest(OutgoingCall call) {
            maybe(Position.ON_REQUEST);
            if (fault == Fault.NULL && position == Position.ON_REQUEST) {
                call.wrap(null, null, null, null);
            }
            kept = call;
        }

        @Override
        public void onResponse(IncomingResponse response) {
            maybe(Position.ON_RESPONSE);
            if (fault == Fault.NULL && position == Position.ON_RESPONSE) {
                response.unwrap(null, null);
            } else if (fault == Fault.USE_AFTER_END && position == Position.ON_RESPONSE) {
                kept.wrap(MessageType.userRequest(0x42), ByteBuffer.allocate(1));
            }
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            maybe(Position.ON_FAILURE);
        }
    }

    /** An exception whose every method throws, too. */
    private static final class Unreadable extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new IllegalStateException("planted in getMessage");
        }

        @Override
        public String toString() {
            throw new IllegalStateException("planted in toString");
        }
    }

    @ParameterizedTest
    @EnumSource
    void costsItsOwnCallOnly(Position position) {
        for (Fault fault : Fault.values()) {
            if (fault == Fault.HANG && position == Position.ON_REQUEST) {
                continue; // holds the program's own thread, as it says
            }
            Misbehaving misbehaving = new Misbehaving(position, fault);
            Interceptors.Registration registration = add("text.*", "misbehaving", 0, misbehaving);
            String operation = position == Position.ON_FAILURE ? "text.bad" : "text.echo";
            AtomicInteger outcomes = new AtomicInteger();
            try {
                caller.call(
                        Request.operation("server", operation).timeout(Duration.ofSeconds(1)), new Outcomes(outcomes));
            } catch (CallException e) {
                outcomes.incrementAndGet();
            }
            Waits.until(position + " with " + fault + ": one outcome", () -> outcomes.get() == 1);
            assertThat(caller.callAsync(raw().payload(marked(ByteBuffer.allocate(1)), List.of())))
                    .as("a call of others, meanwhile")
                    .satisfies(call -> assertThat(call.handle((response, failure) -> true))
                            .succeedsWithin(Duration.ofSeconds(20)));
            hold.countDown();
            assertThat(registration.withdraw(Duration.ofSeconds(20)).isComplete())
                    .as(position + " with " + fault + ": drained")
                    .isTrue();
            assertThat(outcomes).hasValue(1);
            nothingIsInFlight();
        }
    }

    private record Outcomes(AtomicInteger count) implements ResponseListener {
        @Override
        public void onResponse(Response response) {
            count.incrementAndGet();
        }

        @Override
        public void onFailure(CallException failure) {
            count.incrementAndGet();
        }
    }

    private void nothingIsInFlight() {
        Waits.until("no call is pending", () -> caller.pendingCalls() == 0);
        Waits.until(
                "no interceptor has a call in flight",
                () -> caller.interceptors().calls().statuses().stream()
                        .mapToLong(InterceptorStatus::inFlight)
                        .allMatch(count -> count == 0));
    }

    @Test
    void timesOutARequestWhoseHandlerHangsInAnInterceptor() throws Exception {
        HandlerRegistry own = workers.registry();
        Worker middle = workers.join("middle", own);
        workers.handle(own, "text.outer", (message, outbox) -> {
            try (Response response = outbox.caller().call(echo())) {
                outbox.respond(response.value());
            }
        });
        workers.handle(own, "text.other", (message, outbox) -> outbox.respond(Value.of("other")));
        middle.interceptors().calls().add(InterceptorSpec.ofAll(call -> hold(), new Provider("hanging", "1.0.0")));

        assertThatThrownBy(() ->
                        caller.call(Request.operation("middle", "text.outer").timeout(Duration.ofMillis(500))))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT));
        try (Response response = caller.call(Request.operation("middle", "text.other"))) {
            assertThat(response.value()).isEqualTo(Value.of("other"));
        }
        hold.countDown();
        Waits.until(
                "nothing is in flight",
                () -> middle.pendingCalls() == 0
                        && middle.interceptors().calls().statuses().get(0).inFlight() == 0);
    }

    @Test
    void knowsWhetherTheCallerWaits() throws Exception {
        add("text.echo", "watch", 0, call -> seen.add(call.isAwaited() ? "awaited" : "not awaited"));
        Request request = Request.operation("server", "text.echo");
        caller.call(request).close();
        caller.callAsync(request).get(60, TimeUnit.SECONDS).close();
        assertThat(seen).containsExactly("awaited", "not awaited");
    }
}
