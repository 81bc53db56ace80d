package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.CallException.Begun;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.ResponsesOnRecord;
import io.waybill.worker.SilentListener;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whether a call that failed was begun, as its caller sees it. */
@Timeout(180)
class CallBegunTest {

    private static final Duration SHORT = Duration.ofSeconds(3); // enough for a request to be sent and counted
    private static final Duration LONG = Duration.ofSeconds(60);
    /** The second request is taken in flight and waits: a second thread is not started within the test. */
    private static final ExecutorSettings ONE_AND_ONE_THAT_WAITS =
            new ExecutorSettings(1, 2, Duration.ofHours(1).toNanos(), 0, Duration.ofSeconds(10));

    @TempDir
    private Path directory;

    private final CountDownLatch begins = new CountDownLatch(1);
    private final CountDownLatch hold = new CountDownLatch(1);
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        WorkerSettings settings =
                Workers.SETTINGS.toBuilder().drainLimit(Duration.ofMillis(100)).build();
        server = workers.join("server", handlers, settings);
        caller = workers.join("caller");
        workers.handle(
                handlers,
                "test.held",
                (message, outbox) -> {
                    begins.countDown();
                    hold.await();
                    outbox.respond(Value.of("held"));
                },
                ONE_AND_ONE_THAT_WAITS);
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private CallException failure(Request request) {
        return catchThrowableOfType(
                CallException.class, () -> caller.call(request).close());
    }

    private static CallException failure(CompletableFuture<?> call) {
        return (CallException)
                catchThrowableOfType(CompletionException.class, call::join).getCause();
    }

    private static Request to(String operation) {
        return Request.operation("server", operation).timeout(LONG);
    }

    @Test
    void isNotWhenNothingWasSentOrNoHandlerWasFound() {
        CallException unsent = failure(Request.operation("absent", "test.held").timeout(Duration.ofMillis(20)));
        assertThat(unsent.messageId()).isEqualTo(MessageId.NONE);
        assertThat(unsent.begun()).as("begun, of %s", unsent).isEqualTo(Begun.NO);
        CallException unknown = failure(to("no.such"));
        assertThat(unknown.code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
        assertThat(unknown.begun()).as("begun, of %s", unknown).isEqualTo(Begun.NO);
    }

    @Test
    void isWhenTheHandlerFailedOrRefused() {
        workers.handle(handlers, "test.fails", (message, outbox) -> {
            throw new IllegalStateException("by the test");
        });
        workers.handle(handlers, "test.refuses", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "by the test");
        });
        workers.handleOnPoller(handlers, "test.silent", (message, outbox) -> {});
        for (String operation : new String[] {"test.fails", "test.refuses", "test.silent"}) {
            CallException failure = failure(to(operation));
            assertThat(failure.begun()).as("begun, of %s", failure).isEqualTo(Begun.YES);
        }
    }

    @Test
    void isUnknownToACallerThatDidNotWaitForTheResponse() throws Exception {
        CallException timedOut =
                failure(Request.operation("server", "test.held").timeout(SHORT));
        assertThat(timedOut.code()).isEqualTo(ErrorCode.TIMED_OUT);
        assertThat(timedOut.begun()).as("begun, of %s", timedOut).isEqualTo(Begun.UNKNOWN);
    }

    /** A handler had counted it, and no thread was free until its deadline. */
    @Test
    void isNotWhenItWaitedForAThreadUntilItsDeadline() throws Exception {
        CompletableFuture<?> first = caller.callAsync(to("test.held"));
        begins.await();
        long id = caller.call(Request.operation("server", "test.held").timeout(SHORT), new SilentListener());
        Waits.until("it is in hand", () -> server.counters().requestsBegun() == 2);
        Waits.until("its caller no longer waits", () -> caller.pendingCalls() == 1);
        hold.countDown();
        first.join();
        Waits.until(
                "it has its response", () -> !ResponsesOnRecord.to(id, server).isEmpty());
        caller.close();
        Worker again = workers.join("caller");
        CallException expired = failure(again.claimAsync(id, LONG));
        assertThat(expired.code()).isEqualTo(ErrorCode.TIMED_OUT);
        assertThat(expired.begun()).as("begun, of %s", expired).isEqualTo(Begun.NO);
    }

    @Test
    void isWhenTheWorkerLeavesInsideTheHandler() throws Exception {
        CompletableFuture<?> running = caller.callAsync(to("test.held"));
        begins.await();
        server.close();
        CallException lost = failure(running);
        assertThat(lost.code()).isEqualTo(ErrorCode.WORKER_LOST);
        assertThat(lost.begun()).as("begun, of %s", lost).isNotEqualTo(Begun.NO);
    }

    @Test
    void isWhatItsCreatorSays() {
        assertThat(new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.CLOSED, MessageId.NONE, "unsent").begun())
                .isEqualTo(Begun.NO);
        assertThat(new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.CLOSED, 1, "sent").begun())
                .isEqualTo(Begun.UNKNOWN);
        assertThat(new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.CLOSED, 1, "ran")
                        .begun(Begun.YES)
                        .begun())
                .isEqualTo(Begun.YES);
    }
}
