package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests whose deadline passes before their handler begins: which side notices first must not show in the error. */
@Timeout(180)
class LateRequestTest {

    private static final String PYTORCH = "RPCErr:1:RPC ran for more than set timeout (%d ms) and will now be marked"
            + " with an error: the deadline of call ";

    private static final ExecutorSettings ONE_THREAD_AND_A_QUEUE =
            new ExecutorSettings(1, 2, Duration.ofHours(1).toNanos(), 0, Duration.ofSeconds(10));

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicInteger begun = new AtomicInteger();
    private Workers workers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        Provider provider = new Provider("test", "1.0.0");
        HandlerExecutor executor = handlers.newExecutor(provider, ONE_THREAD_AND_A_QUEUE);
        handlers.add(HandlerSpec.of(HandlerKey.parse("0x142"), this::handle, provider, executor));
        handlers.add(HandlerSpec.of(HandlerKey.parse("function:held"), this::handle, provider, executor));
        server = workers.join("server", handlers);
        caller = workers.join("caller");
    }

    private void handle(Message message, Outbox outbox) {
        begun.incrementAndGet();
        try {
            hold.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        outbox.respond(Value.NONE);
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private static Request request(Duration timeout) {
        return Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(4), List.of())
                .timeout(timeout);
    }

    private static void assertTimedOut(CallException failure, long ms) {
        assertThat(failure.kind()).isEqualTo(ErrorKind.TIMEOUT);
        assertThat(failure.code()).isEqualTo(ErrorCode.TIMED_OUT);
        assertThat(failure)
                .hasMessageStartingWith("RPCErr:1:RPC ran for more than set timeout (" + ms
                        + " ms) and will now be marked with an error: ");
    }

    /** The error in the server's journal, once there is one. */
    private CallException recordedFailure() {
        Waits.until("the server responded with an error", () -> readFailure().isPresent());
        return readFailure().orElseThrow();
    }

    private Optional<CallException> readFailure() {
        MessageBuffer buffer = new MessageBuffer();
        RecordView record = new RecordView(buffer);
        Path responses = server.directory().path().resolve("responses");
        try (JournalTail tail = JournalTail.open(responses, Workers.SETTINGS.journal())) {
            while (tail.poll(buffer, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                if (record.type() == MessageType.EXCEPTION) {
                    String text = new String(record.copyPayload(), StandardCharsets.UTF_8);
                    return Optional.of(new CallException(record.errorKind(), record.errorCode(), record.id(), text));
                }
            }
            return Optional.empty();
        }
    }

    @Test
    void timesOutAtOnceWithANegativeTimeoutAsPyTorchDoes() {
        assertThatThrownBy(() -> caller.call(request(Duration.ofSeconds(-5))))
                .isInstanceOfSatisfying(CallException.class, e -> assertTimedOut(e, -5000));

        CompletableFuture<Response> call = caller.callAsync(request(Duration.ofNanos(-1_000_000)));
        assertThatThrownBy(() -> call.get(20, TimeUnit.SECONDS))
                .cause()
                .isInstanceOfSatisfying(CallException.class, e -> assertTimedOut(e, -1));

        assertThat(begun).as("handlers that began").hasValue(0);
        assertThat(caller.pendingCalls()).isZero();
    }

    @Test
    void takesANanosecondBelowZeroForNoDefault() {
        assertThat(request(Duration.ofNanos(-1)).timeoutNs()).isEqualTo(-1).isNotEqualTo(Request.DEFAULT_TIMEOUT);
        assertThat(request(Duration.ofSeconds(Long.MIN_VALUE)).timeoutNs())
                .isNegative()
                .isNotEqualTo(Request.DEFAULT_TIMEOUT);
        assertThat(request(Duration.ofSeconds(Long.MAX_VALUE)).timeoutNs()).isEqualTo(Request.NO_TIMEOUT);
    }

    @Test
    void recordsPyTorchsWordsForWhatCameTooLate() {
        assertThatThrownBy(() -> caller.call(request(Duration.ofSeconds(-5))))
                .isInstanceOfSatisfying(CallException.class, e -> assertTimedOut(e, -5000));

        assertThat(recordedFailure().kind()).isEqualTo(ErrorKind.TIMEOUT);
        assertThat(recordedFailure())
                .hasMessageStartingWith(PYTORCH.formatted(-5000))
                .hasMessageEndingWith(" had passed before a handler began");
        assertThat(begun).as("handlers that began").hasValue(0);
    }

    @Test
    void recordsPyTorchsWordsForWhatWaitedTooLongForAThread() {
        CompletableFuture<Response> first = caller.callAsync(request(Duration.ZERO));
        Waits.until("the only thread is taken", () -> begun.get() == 1);
        CompletableFuture<Response> second = caller.callAsync(request(Duration.ofMillis(1500)));
        Waits.until("the second waits for it", () -> server.counters().requestsBegun() == 2);
        assertThatThrownBy(() -> second.get(20, TimeUnit.SECONDS))
                .cause()
                .isInstanceOfSatisfying(CallException.class, e -> assertTimedOut(e, 1500));

        hold.countDown();
        first.join().close();

        assertThat(recordedFailure().kind()).isEqualTo(ErrorKind.TIMEOUT);
        assertThat(recordedFailure().code()).isEqualTo(ErrorCode.TIMED_OUT);
        assertThat(recordedFailure())
                .hasMessageStartingWith(PYTORCH.formatted(1500))
                .hasMessageEndingWith(" had passed before a handler began");
        assertThat(begun).as("handlers that began").hasValue(1);
    }

    @Test
    void recordsPyTorchsWordsForAFetchWhoseValueDidNotCome() {
        try (RRef reference = caller.rpc().remote("server", new Invocation("held", List.of(), Map.of()))) {
            assertThatThrownBy(() -> reference.toHere(Duration.ofSeconds(2)))
                    .isInstanceOfSatisfying(CallException.class, e -> assertTimedOut(e, 2000));

            CallException recorded = recordedFailure();
            assertTimedOut(recorded, 2000);
            assertThat(recorded).hasMessageEndingWith(" did not come before the deadline");
            hold.countDown();
        }
    }
}
