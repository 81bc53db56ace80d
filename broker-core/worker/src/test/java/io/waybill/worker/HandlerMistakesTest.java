package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.StuckSettings;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
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

/** Mistakes that authors of handlers and listeners make easily, and what they cost. {@code io.waybill.foreign} has all others, in a table. */
@Timeout(300)
class HandlerMistakesTest {

    private static final WorkerSettings SETTINGS = Workers.SETTINGS.toBuilder()
            .tensors(new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10))
            .stuck(new StuckSettings(Duration.ofMillis(100).toNanos(), 0, 100))
            .build();
    private static final int BYTES = 100_000; // travels through a segment, so that its lease has to come back

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final CountDownLatch hangs = new CountDownLatch(1);
    private final List<HandlerRegistry.Registration> registrations = new ArrayList<>();
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        server = workers.join("server", handlers, SETTINGS);
        caller = workers.join("caller", workers.registry(), SETTINGS);
        workers.handleOnPoller(handlers, "text.now", (message, outbox) -> outbox.respond(Value.of("on")));
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private void handle(String key, boolean onPoller, MessageHandler handler) {
        registrations.add(
                onPoller ? workers.handleOnPoller(handlers, key, handler) : workers.handle(handlers, key, handler));
    }

    private static Request withTensor(String operation, Tensor tensor) {
        Request request = Request.operation("server", operation);
        request.body().tensor("t", tensor);
        return request;
    }

    private void everythingIsBack() {
        Waits.until("no request is in flight", () -> inFlight() == 0);
        Waits.until("no call is pending", () -> caller.pendingCalls() == 0);
        for (Worker worker : List.of(server, caller)) {
            Waits.until("leases of " + worker.info() + " are back", () -> Workers.leases(worker) == 0);
        }
    }

    private void nothingIsLeftToDrain() {
        for (HandlerRegistry.Registration registration : registrations) {
            assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning())
                    .as("requests that an update would wait for")
                    .isZero();
        }
    }

    private long inFlight() {
        return handlers.statuses().stream().mapToLong(HandlerStatus::inFlight).sum();
    }

    /** Hangs, and ignores interrupts. */
    private void hang() {
        hangs.countDown();
        boolean interrupted = false;
        while (hold.getCount() > 0) {
            try {
                hold.await();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    // ---- the background poller is held

    @Test
    void servesOthersWhileAListenerHangs() throws Exception {
        caller.call(Request.operation("server", "text.now"), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                hang();
            }

            @Override
            public void onFailure(CallException failure) {
                hang();
            }
        });
        servesOthers(caller);
    }

    @Test
    void servesOthersWhileANonBlockingHandlerHangs() throws Exception {
        handle("text.bad.now", true, (message, outbox) -> hang());
        caller.callAsync(Request.operation("server", "text.bad.now").timeout(Duration.ofSeconds(60)))
                .whenComplete((response, failure) -> {
                    if (response != null) {
                        response.close();
                    }
                });
        servesOthers(server);
    }

    private void servesOthers(Worker held) throws Exception {
        hangs.await();
        assertThat(caller.callAsync(Request.operation("server", "text.now").timeout(Duration.ofSeconds(60))))
                .as("a call that needs another thread to poll for worker "
                        + held.info().name())
                .succeedsWithin(Duration.ofSeconds(60))
                .satisfies(Response::close);
    }

    // ---- tensors and outboxes

    @Test
    void respondsWithATensorOfTheRequestThatWasNotRetained() {
        handle("t.unretained", false, (message, outbox) -> outbox.response().tensor("t", message.tensor("t")));
        for (int i = 0; i < 300; i++) { // more than there are leases
            Tensor sent = inSegment();
            Tensor behind = inSegment(); // is given back although the one before it can't be
            Request request = withTensor("t.unretained", sent);
            request.body().tensor("u", behind);
            try (Response response = caller.call(request)) {
                assertThat(response.tensors()).hasSize(1);
            }
            sent.storage().release();
            behind.storage().release();
        }
        everythingIsBack();
        nothingIsLeftToDrain();
    }

    private Tensor inSegment() {
        return Tensor.contiguous(
                DType.UINT8, new long[] {BYTES}, caller.buffers().allocate(BYTES));
    }

    @Test
    void respondsWithAStorageThatIsReleased() {
        MessageHandler released = (message, outbox) -> {
            Storage storage = outbox.buffers().allocate(BYTES);
            storage.release();
            outbox.respond(
                    ByteBuffer.allocate(1), List.of(Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage)));
        };
        handle("t.released", false, released);
        handle("t.released.now", true, released);
        handle("t.released.later", false, (message, outbox) -> {
            LateResponse late = outbox.later();
            Storage storage = outbox.buffers().allocate(BYTES);
            storage.release();
            late.send(ByteBuffer.allocate(1), List.of(Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage)));
        });
        for (String operation : List.of("t.released", "t.released.now", "t.released.later")) {
            CompletableFuture<Response> call = caller.callAsync(Request.operation("server", operation));
            assertThat(call)
                    .failsWithin(Duration.ofSeconds(15))
                    .withThrowableThat()
                    .withCauseInstanceOf(CallException.class)
                    .withMessageContaining("the response can't be sent")
                    .satisfies(e ->
                            assertThat(((CallException) e.getCause()).code()).isEqualTo(ErrorCode.HANDLER_FAILED));
        }
        everythingIsBack();
        nothingIsLeftToDrain();
    }

    @Test
    void keepsAnOutboxThatAHandlerUsesAfterItsEnd() {
        CompletableFuture<Outbox> kept = new CompletableFuture<>();
        handle("text.keeps", false, (message, outbox) -> {
            kept.complete(outbox);
            outbox.respond(Value.of("first"));
        });
        caller.call(Request.operation("server", "text.keeps")).close();

        assertThat(catchThrowable(() -> kept.join().respond(Value.of("stale"))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("outbox.later()");
        assertThat(caller.call(Request.operation("server", "text.keeps")).value())
                .isEqualTo(Value.of("first"));
    }

    @Test
    void failsLateWithoutACodeOrAText() {
        handle("text.fails", false, (message, outbox) -> outbox.later().fail(null, null));
        assertThat(caller.callAsync(Request.operation("server", "text.fails")))
                .failsWithin(Duration.ofSeconds(15))
                .withThrowableThat()
                .withCauseInstanceOf(CallException.class)
                .satisfies(
                        e -> assertThat(((CallException) e.getCause()).code()).isEqualTo(ErrorCode.UNKNOWN));
        everythingIsBack();
        nothingIsLeftToDrain();
    }

    @Test
    void repeatsALateResponseThatCouldNotBeGiven() {
        handle("text.twice", false, (message, outbox) -> {
            LateResponse late = outbox.later();
            assertThat(catchThrowable(() -> late.send(null, List.of()))).isInstanceOf(NullPointerException.class);
            late.send(Value.of("then"));
        });
        assertThat(caller.call(Request.operation("server", "text.twice")).value())
                .isEqualTo(Value.of("then"));
        everythingIsBack();
        nothingIsLeftToDrain();
    }

    @Test
    void decidesByTheHandlersExceptionWhenAResponseWasGivenBefore() {
        handle("0x142", false, (message, outbox) -> {
            Storage storage = outbox.buffers().allocate(BYTES);
            outbox.later()
                    .send(ByteBuffer.allocate(1), List.of(Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage)));
            throw new IllegalStateException("after all");
        });
        Request request = Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of());
        for (int i = 0; i < 1000; i++) { // together more than there is room for, so the dropped ones were given back
            assertThat(caller.callAsync(request))
                    .as("call %d, whose handler threw behind its late response", i)
                    .failsWithin(Duration.ofSeconds(15))
                    .withThrowableThat()
                    .withMessageContaining("after all");
        }
        everythingIsBack();
    }
}
