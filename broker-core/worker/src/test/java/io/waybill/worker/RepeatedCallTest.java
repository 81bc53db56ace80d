package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.InterceptorStatus;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls that an interceptor repeats after a failed attempt. */
@Timeout(240)
class RepeatedCallTest {

    private static final Duration SHORT = Duration.ofMillis(5);
    private static final int BYTES = 100_000; // travels through a segment
    private static final Duration LONG = Duration.ofMinutes(10);

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private final AtomicInteger served = new AtomicInteger();
    private final CountDownLatch hold = new CountDownLatch(1);
    private int failing = 2; // how many requests fail before one succeeds
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.join("server", handlers);
        caller = workers.join("caller");
        workers.handle(handlers, "text.count", (message, outbox) -> {
            require();
            outbox.respond(Value.of(message.int64("n")));
        });
        workers.handle(handlers, "0x142", (message, outbox) -> {
            require();
            Tensor tensor = message.tensors().get(0);
            tensor.storage().retain();
            outbox.respond(message.payload(), List.of(tensor));
        });
    }

    private void require() throws RejectedMessageException {
        if (served.getAndIncrement() < failing) {
            throw new RejectedMessageException(ErrorCode.REFUSED, "planted");
        }
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    /** Keeps each request, and does something after a failed attempt. */
    private final class Repeating implements CallInterceptor {
        private final Consumer<FailedAttempt> then;

        Repeating(Consumer<FailedAttempt> then) {
            this.then = then;
        }

        @Override
        public void onRequest(OutgoingCall call) {
            call.keep();
            call.attach("kept");
        }

        @Override
        public void onAttemptFailed(FailedAttempt attempt) {
            seen.add(attempt.attachment() + " " + attempt.number() + " "
                    + attempt.failure().code());
            then.accept(attempt);
        }

        @Override
        public void onResponse(IncomingResponse response) {
            seen.add("response");
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            seen.add("failure " + failure.code());
        }
    }

    private void repeat(Consumer<FailedAttempt> then) {
        caller.interceptors()
                .calls()
                .add(InterceptorSpec.ofAll(new Repeating(then), new Provider("repeating", "1.0.0")));
    }

    private static Request count(String to, Duration timeout) {
        Request request = Request.operation(to, "text.count").timeout(timeout);
        request.body().int64("n", 5);
        return request;
    }

    private static Request count() {
        return count("server", Duration.ofSeconds(60));
    }

    private static void wasCounted(Response response) {
        assertThat(response.value()).isEqualTo(Value.of(5));
    }

    /** Also waits until interceptors were notified of failures, which programs are before. */
    private void nothingIsInFlight() {
        Waits.until(
                "nothing is in flight",
                () -> caller.pendingCalls() == 0
                        && caller.interceptors().calls().statuses().stream()
                                        .mapToLong(InterceptorStatus::inFlight)
                                        .sum()
                                == 0);
    }

    private static ErrorCode codeOf(CompletableFuture<Response> call) throws Exception {
        try {
            call.get(100, TimeUnit.SECONDS).close();
            throw new AssertionError("the call succeeded");
        } catch (ExecutionException e) {
            return ((CallException) e.getCause()).code();
        }
    }

    @Test
    void repeatsCallsUntilOneSucceeds() throws Exception {
        repeat(attempt -> assertThat(attempt.repeat(SHORT)).isTrue());
        try (Response response = caller.call(count())) {
            wasCounted(response);
        }
        assertThat(seen).containsExactly("kept 1 REFUSED", "kept 2 REFUSED", "response");
        assertThat(served).hasValue(3);
        served.set(0);
        try (Response response = caller.callAsync(count()).get(100, TimeUnit.SECONDS)) {
            wasCounted(response);
        }
        assertThat(served).hasValue(3);
        nothingIsInFlight();
    }

    @Test
    void keepsTensorsUntilTheOutcome() throws Exception {
        repeat(attempt -> attempt.repeat(SHORT));
        Storage storage = caller.buffers().allocate(BYTES);
        storage.bytes(BYTES - 1, 1).put((byte) 42);
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage);
        CompletableFuture<Response> call = caller.callAsync(
                Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.wrap(new byte[] {1}), List.of(tensor))
                        .timeout(Duration.ofSeconds(60)));
        storage.release();
        try (Response response = call.get(100, TimeUnit.SECONDS)) {
            assertThat(response.payload()).isEqualTo(ByteBuffer.wrap(new byte[] {1}));
            assertThat(response.tensors().get(0).storage().bytes(BYTES - 1, 1).get())
                    .isEqualTo((byte) 42);
        }
        assertThat(served).hasValue(3);
        Waits.until("the region is free", () -> {
            try {
                storage.bytes(0, 1);
                return false;
            } catch (IllegalStateException e) {
                return true;
            }
        });
        nothingIsInFlight();
    }

    @Test
    void leavesTheFailureWhereNothingRepeats() throws Exception {
        repeat(attempt -> {});
        assertThatThrownBy(() -> caller.call(count())).hasMessageContaining("planted");
        nothingIsInFlight();
        assertThat(seen).containsExactly("kept 1 REFUSED", "failure REFUSED");
    }

    @Test
    void doesNotRepeatBeyondTheDeadline() throws Exception {
        repeat(attempt -> seen.add("repeats " + attempt.repeat(LONG)));
        assertThatThrownBy(() -> caller.call(count())).hasMessageContaining("planted");
        nothingIsInFlight();
        assertThat(seen).containsExactly("kept 1 REFUSED", "repeats false", "failure REFUSED");
    }

    @Test
    void endsByTheDeadlineWhileItRepeats() throws Exception {
        failing = Integer.MAX_VALUE;
        repeat(attempt -> attempt.repeat(SHORT));
        ErrorCode code = codeOf(caller.callAsync(count("server", Duration.ofMillis(300))));
        assertThat(code).isIn(ErrorCode.TIMED_OUT, ErrorCode.REFUSED);
        nothingIsInFlight();
        assertThat(seen).last().isEqualTo("failure " + code);
    }

    @Test
    void sendsLaterWhatCouldNotBeSent() throws Exception {
        failing = 0;
        repeat(attempt -> attempt.repeat(SHORT));
        CompletableFuture<Response> call = caller.callAsync(count("late", Duration.ofSeconds(100)));
        Waits.until("it was tried", () -> seen.contains("kept 2 UNKNOWN_WORKER"));
        HandlerRegistry own = workers.registry();
        workers.handle(own, "text.count", (message, outbox) -> outbox.respond(Value.of(message.int64("n"))));
        workers.join("late", own);
        try (Response response = call.get(100, TimeUnit.SECONDS)) {
            wasCounted(response);
        }
        nothingIsInFlight();
    }

    @Test
    void endsCallsThatWaitWhenTheWorkerCloses() throws Exception {
        repeat(attempt -> attempt.repeat(Duration.ofMinutes(1)));
        CompletableFuture<Response> call = caller.callAsync(count("server", Duration.ofMinutes(5)));
        Waits.until("it waits", () -> !seen.isEmpty());
        assertThat(caller.pendingCalls()).isOne();
        caller.close();
        assertThat(codeOf(call)).isEqualTo(ErrorCode.CLOSED);
        nothingIsInFlight();
        assertThat(seen).containsExactly("kept 1 REFUSED", "failure CLOSED");
    }

    @Test
    void containsAnInterceptorThatThrows() throws Exception {
        repeat(attempt -> {
            attempt.repeat(SHORT);
            throw new AssertionError("planted in the interceptor");
        });
        assertThatThrownBy(() -> caller.call(count())).hasMessageContaining("planted");
        nothingIsInFlight();
        assertThat(seen).containsExactly("kept 1 REFUSED", "failure REFUSED");
        assertThat(caller.interceptors().calls().statuses().get(0).failed()).isOne();
    }

    @Test
    void endsACallWhoseInterceptorHangsAtItsDeadline() throws Exception {
        repeat(attempt -> {
            while (hold.getCount() > 0) {
                try {
                    hold.await();
                } catch (InterruptedException e) {
                    // it does not care
                }
            }
            attempt.repeat(SHORT);
        });
        assertThat(codeOf(caller.callAsync(count("server", Duration.ofMillis(200)))))
                .isEqualTo(ErrorCode.TIMED_OUT);
        served.set(failing);
        try (Response response = caller.call(count())) { // other calls never notice
            wasCounted(response);
        }
        hold.countDown();
        nothingIsInFlight();
        assertThat(served).hasValue(failing + 1);
    }

    @Test
    void refusesUseAfterTheMethod() throws Exception {
        FailedAttempt[] leaked = new FailedAttempt[1];
        repeat(attempt -> leaked[0] = attempt);
        assertThatThrownBy(() -> caller.call(count())).hasMessageContaining("planted");
        assertThatThrownBy(() -> leaked[0].repeat(SHORT)).isInstanceOf(IllegalStateException.class);
    }
}
