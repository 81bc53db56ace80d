package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.handler.LateResponse;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Plain handlers of messages inside others, on the thread that read the envelope, in real workers. */
@Timeout(300)
class EnvelopePollingTest {

    @TempDir
    private Path directory;

    private PolledServer server;

    @BeforeEach
    void join() throws IOException {
        server = new PolledServer(directory);
    }

    @AfterEach
    void leave() throws IOException {
        server.close();
    }

    /** Returns whether the calling handler runs on a thread that polls in place of the poller. */
    private static boolean isLed() {
        return StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getClassName().equals(HandlerPolling.class.getName())));
    }

    /** Has a non-blocking handler that passes the message inside of it on, and does this behind it, and that when it has the outcome. */
    private void handleEnvelopes(Runnable behind, Runnable stage) {
        ValueEncoder encoder = new ValueEncoder();
        new Invocation("text.inner", List.of(), Map.of()).encode(encoder);
        server.workers.handleOnPoller(server.handlers, "text.envelope", (message, outbox) -> {
            LateResponse later = outbox.later();
            outbox.dispatchAsync(MessageType.NAMED_CALL, ByteBuffer.wrap(encoder.toBytes()), List.of(), List.of())
                    .whenComplete((response, failure) -> {
                        stage.run();
                        if (failure == null) {
                            later.send(response.payload(), List.of(), List.of());
                            response.close();
                        } else {
                            later.fail(ErrorCode.HANDLER_FAILED, failure.toString());
                        }
                    });
            behind.run();
        });
    }

    @Test
    void leavesAPlainHandlerInsideOfAnEnvelopeToTheThreadThatPolls() {
        AtomicBoolean left = new AtomicBoolean();
        Set<String> threads = ConcurrentHashMap.newKeySet();
        AtomicBoolean nested = new AtomicBoolean();
        server.workers.handle(server.handlers, "text.inner", (message, outbox) -> {
            threads.add(Thread.currentThread().getName());
            if (PolledServer.isInside("handleEnvelopes")) {
                nested.set(true);
            }
            if (PolledServer.isInside("runWaiting")) {
                left.set(true);
            }
            outbox.respond(Value.of("on"));
        });
        handleEnvelopes(() -> {}, () -> {});
        Waits.until("a thread that polls runs it", () -> {
            for (int i = 0; i < PolledServer.BURST; i++) {
                server.caller.call(PolledServer.to("text.envelope")).close();
            }
            return left.get();
        });
        assertThat(threads).allMatch(name -> name.startsWith("test-text.inner-handler-"));
        assertThat(nested).as("it ran inside of the envelope's handler").isFalse();
        server.othersAreServed();
    }

    @Test
    void anotherThreadRunsWhatWasLeftToAThreadThatDoesNotReturn() {
        AtomicBoolean held = new AtomicBoolean();
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger envelopes = new AtomicInteger();
        server.workers.handle(server.handlers, "text.inner", (message, outbox) -> {
            begun.incrementAndGet();
            outbox.respond(Value.of("on"));
        });
        handleEnvelopes(
                () -> {
                    envelopes.incrementAndGet();
                    if (isLed() && held.compareAndSet(false, true)) {
                        server.awaitHold();
                    }
                },
                () -> {});
        CompletableFuture<Void> calls = CompletableFuture.runAsync(() -> {
            while (!held.get()) {
                server.caller.call(PolledServer.to("text.envelope")).close();
            }
        });
        Waits.until("an envelope hangs on the thread that polls", held::get);
        Waits.until("what is inside of it runs", () -> begun.get() == envelopes.get());
        assertThat(calls).as("the call whose envelope hangs").isNotDone();
        server.othersAreServed();

        server.goOn();
        assertThat(calls).succeedsWithin(PolledServer.LONG);
    }

    @Test
    void othersAreServedWhileAStageOfWhatWasLeftDoesNotReturn() {
        AtomicBoolean held = new AtomicBoolean();
        server.workers.handle(server.handlers, "text.inner", (message, outbox) -> outbox.respond(Value.of("on")));
        handleEnvelopes(() -> {}, () -> {
            if (PolledServer.isInside("runWaiting") && held.compareAndSet(false, true)) {
                server.awaitHold();
            }
        });
        CompletableFuture<Void> calls = CompletableFuture.runAsync(() -> {
            while (!held.get()) {
                server.caller.call(PolledServer.to("text.envelope")).close();
            }
        });
        Waits.until("a stage hangs on the thread that polls", held::get);
        server.othersAreServed();
        server.caller.call(PolledServer.to("text.envelope")).close(); // by another thread of the same bundle
        assertThat(calls).as("the call whose stage hangs").isNotDone();

        server.goOn();
        assertThat(calls).succeedsWithin(PolledServer.LONG);
    }
}
