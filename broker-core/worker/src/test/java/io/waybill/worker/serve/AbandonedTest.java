package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import io.waybill.worker.ResponsesOnRecord;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests that were responded to without their handler, because its bundle left and its thread did not come back in time. */
@Timeout(180)
class AbandonedTest {

    private static final Duration SOON = Duration.ofMillis(50);
    /** More than half of what the caller's segments may take: two don't fit. */
    private static final int TENSOR_BYTES = 10 << 20;

    private static final WorkerSettings SETTINGS = Workers.SETTINGS.toBuilder()
            .tensors(new TensorConfig(16 << 20, 16 << 20, 4096, 64 << 10))
            .build();

    @TempDir
    private Path directory;

    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicReference<LateResponse> late = new AtomicReference<>();
    private Workers workers;
    private Worker server;
    private Worker caller;
    private HandlerExecutor threads;
    private HandlerRegistry handlers;

    /** What a handler does when it comes back after all. */
    private enum Ending {
        RESPONDS,
        THROWS,
        SAYS_NOTHING,
        SENDS_ITS_DEFERRED_RESPONSE,
        FAILS_ITS_DEFERRED_RESPONSE
    }

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        server = workers.join("server", handlers, SETTINGS);
        caller = workers.join("caller", workers.registry(), SETTINGS);
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private HandlerRegistry.Registration publish(Ending ending, ExecutorSettings settings) {
        Provider provider = new Provider("test", "1.0.0");
        threads = handlers.newExecutor(provider, settings);
        return handlers.add(new HandlerSpec(
                List.of(HandlerKey.parse("0x142")),
                (message, outbox) -> handle(message, outbox, ending),
                false,
                provider,
                0,
                AbandonedTest.class.getClassLoader(),
                threads));
    }

    private void handle(Message message, Outbox outbox, Ending ending) {
        if (ending == Ending.SENDS_ITS_DEFERRED_RESPONSE || ending == Ending.FAILS_ITS_DEFERRED_RESPONSE) {
            late.set(outbox.later());
        }
        begun.countDown();
        awaitHold();
        if (ending == Ending.RESPONDS) {
            outbox.respond(Value.of("late"));
        } else if (ending == Ending.THROWS) {
            throw new IllegalStateException("after its time");
        }
    }

    /** Whatever interrupts it. */
    private void awaitHold() {
        boolean held = true;
        while (held) {
            try {
                hold.await();
                held = false;
            } catch (InterruptedException e) {
                // it does not come back
            }
        }
    }

    private Tensor bytes() {
        Storage storage = caller.buffers().allocate(TENSOR_BYTES);
        return Tensor.contiguous(DType.UINT8, new long[] {TENSOR_BYTES}, storage);
    }

    private boolean hasRoomForAnother() {
        try {
            bytes().storage().release();
            return true;
        } catch (CallException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL);
            return false;
        }
    }

    @ParameterizedTest
    @EnumSource
    void haveOneResponseAndReturnTheirTensorsHoweverTheHandlerEnds(Ending ending) throws Exception {
        HandlerRegistry.Registration registration = publish(ending, ExecutorSettings.forProcessors(2));
        Tensor sent = bytes();
        CompletableFuture<Response> call = call(sent);
        begun.await();
        sent.storage().release();

        registration.withdraw(SOON);
        assertThat(threads.close(SOON)).isEqualTo(1);

        assertStuck(call);
        assertThat(hasRoomForAnother())
                .as("whether the region was given back while the handler may still read it")
                .isFalse();

        hold.countDown();
        Waits.until("the handler's thread ended", () -> threads.threadCount() == 0);
        end(ending);

        long id = MessageId.of(caller.info().id(), 0);
        assertThat(ResponsesOnRecord.to(id, server))
                .as("the responses to a request that was abandoned, and whose handler then %s", ending)
                .containsExactly(
                        new ResponsesOnRecord.OnRecord(id, ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_STUCK, true));
        Waits.until(
                "the region of the abandoned request's tensor came back to its sender, after the handler " + ending,
                this::hasRoomForAnother);
        assertThat(server.counters().failures(ErrorCode.HANDLER_STUCK)).isEqualTo(1);
    }

    private CompletableFuture<Response> call(Tensor... tensors) {
        return caller.callAsync(
                Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of(tensors))
                        .timeout(Duration.ZERO));
    }

    private static void assertStuck(CompletableFuture<Response> call) {
        assertThatThrownBy(call::join)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_STUCK));
    }

    /** It waited for the thread that does not come back. */
    @Test
    void giveTheirTensorsBackAtOnceWhenTheHandlerNeverBegan() throws Exception {
        HandlerRegistry.Registration registration = publish(
                Ending.RESPONDS, new ExecutorSettings(1, 2, Duration.ofHours(1).toNanos(), 0, Duration.ofSeconds(10)));
        CompletableFuture<Response> first = call();
        begun.await();
        Tensor sent = bytes();
        CompletableFuture<Response> second = call(sent);
        Waits.until("the second is in hand", () -> server.counters().requestsBegun() == 2);
        sent.storage().release();

        registration.withdraw(SOON);
        threads.close(SOON);

        assertStuck(first);
        assertStuck(second);
        Waits.until(
                "the region of a tensor came back to its sender, whose request no handler had begun",
                this::hasRoomForAnother);
    }

    private void end(Ending ending) {
        if (ending == Ending.SENDS_ITS_DEFERRED_RESPONSE) {
            late.get().send(Value.of("late"));
        } else if (ending == Ending.FAILS_ITS_DEFERRED_RESPONSE) {
            late.get().fail(ErrorCode.REFUSED, "after its time");
        }
    }
}
