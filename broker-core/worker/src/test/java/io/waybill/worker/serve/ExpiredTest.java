package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.ResponsesOnRecord;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import io.waybill.worker.peer.FlowLimits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests whose deadline passes before their handler begins. */
@Timeout(180)
class ExpiredTest {

    private static final String OPERATION = "test.slow";
    /** The second request is taken in flight and waits: a second thread is not started within the test. */
    private static final ExecutorSettings ONE_AND_ONE_THAT_WAITS =
            new ExecutorSettings(1, 2, Duration.ofHours(1).toNanos(), 0, Duration.ofSeconds(10));
    /** The second request parks. */
    private static final ExecutorSettings ONE = new ExecutorSettings(1, 1, 0, 0, Duration.ofSeconds(10));

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicInteger begun = new AtomicInteger();
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
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private final MessageHandler slow = (message, outbox) -> {
        begun.incrementAndGet();
        try {
            hold.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        outbox.respond(Value.of(1));
    };

    private static Request request(Duration timeout) {
        return Request.operation("server", OPERATION).timeout(timeout);
    }

    @Test
    void isNotRunByAThreadThatItWaitedForTooLong() {
        workers.handle(handlers, OPERATION, slow, ONE_AND_ONE_THAT_WAITS);
        CompletableFuture<Response> first = caller.callAsync(request(Duration.ZERO));
        Waits.until("the thread is busy", () -> begun.get() == 1);
        Failure second = new Failure();
        long id = caller.call(request(Duration.ofSeconds(2)), second);
        Waits.until("the second is in hand", () -> server.counters().requestsBegun() == 2);
        assertExpiresUnrun(first, second, id);
    }

    @Test
    void isNotRunWhenItParkedForTooLong() {
        workers.handle(handlers, OPERATION, slow, ONE);
        CompletableFuture<Response> first = caller.callAsync(request(Duration.ZERO));
        Waits.until("the thread is busy", () -> begun.get() == 1);
        Failure second = new Failure();
        long id = caller.call(request(Duration.ofSeconds(2)), second);
        Waits.until("the second parked", () -> server.counters().requestsParked() == 1);
        assertExpiresUnrun(first, second, id);
    }

    private void assertExpiresUnrun(CompletableFuture<Response> first, Failure second, long id) {
        CallException failure = second.heard.join();
        assertThat(failure.code()).isEqualTo(ErrorCode.TIMED_OUT);
        assertThat(failure.kind()).as("kind of TIMED_OUT").isEqualTo(ErrorKind.TIMEOUT);
        hold.countDown();
        first.join().close();
        Waits.until(
                "the second has its response",
                () -> !ResponsesOnRecord.to(id, server).isEmpty());
        assertThat(begun)
                .as("handlers that were run, the second after the deadline of its request")
                .hasValue(1);
        assertThat(ResponsesOnRecord.to(id, server))
                .as("what is on record for a request whose deadline had passed")
                .containsExactly(new ResponsesOnRecord.OnRecord(id, ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, true));
    }

    @Test
    void isATimeoutAlsoWhenNothingCouldBeSent() throws IOException {
        workers.handle(handlers, OPERATION, slow);
        Worker narrow = workers.join(
                "narrow",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .limits(FlowLimits.defaults().withCallsPerPeer(1))
                        .build());
        narrow.callAsync(request(Duration.ZERO));
        assertThat(narrow.callAsync(request(Duration.ofMillis(50))))
                .failsWithin(Duration.ofSeconds(30))
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(CallException.class, e -> {
                    assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT);
                    assertThat(e.kind()).as("kind of TIMED_OUT").isEqualTo(ErrorKind.TIMEOUT);
                });
    }

    /** How a call failed. */
    private static final class Failure implements ResponseListener {
        private final CompletableFuture<CallException> heard = new CompletableFuture<>();

        @Override
        public void onResponse(Response response) {
            heard.completeExceptionally(new AssertionError("a response to a request that expired"));
        }

        @Override
        public void onFailure(CallException failure) {
            heard.complete(failure);
        }
    }
}
