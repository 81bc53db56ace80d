package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Plain handlers that run on the thread that read their requests, in real workers. */
@Timeout(300)
class HandlerPollingTest {

    private static final int BURST = 200;
    private static final int WAITS = 10;
    private static final Duration LONG = Duration.ofSeconds(100);

    @TempDir
    private Path directory;

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
        workers.handle(handlers, "text.other", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.handleOnPoller(handlers, "text.now", (message, outbox) -> outbox.respond(Value.of("on")));
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    /** Returns whether the calling handler runs on the thread that read its request. */
    private static boolean isPolled() {
        return isInside("runPolled");
    }

    /** Returns whether a method with this in its name calls the one that asks. */
    private static boolean isInside(String method) {
        return StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getMethodName().contains(method)));
    }

    private static Request to(String operation) {
        return Request.operation("server", operation).timeout(LONG);
    }

    private void burst(String operation) {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < BURST; i++) {
            calls.add(caller.callAsync(to(operation)));
        }
        calls.forEach(call -> call.join().close());
    }

    /** Calls until the condition holds. */
    private void call(String operation, String what, AtomicBoolean condition) {
        Waits.until(what, () -> {
            if (!condition.get()) {
                burst(operation);
            }
            return condition.get();
        });
    }

    private void othersAreServed() {
        for (String operation : List.of("text.now", "text.other")) {
            try (Response response = caller.call(to(operation))) {
                assertThat(response.value()).isEqualTo(Value.of("on"));
            }
        }
    }

    @Test
    void runsAShortHandlerOnTheThreadOfItsBundleThatReadItsRequest() {
        AtomicBoolean polled = new AtomicBoolean();
        Set<String> threads = ConcurrentHashMap.newKeySet();
        workers.handle(handlers, "text.short", (message, outbox) -> {
            threads.add(Thread.currentThread().getName());
            if (isPolled()) {
                polled.set(true);
            }
            outbox.respond(Value.of("on"));
        });
        call("text.short", "a thread of the handler polls", polled);
        assertThat(threads).allMatch(name -> name.startsWith("test-text.short-handler-"));
        othersAreServed();
    }

    @Test
    void anotherThreadPollsWhileAHandlerThatWasPolledDoesNotReturn() {
        AtomicBoolean held = new AtomicBoolean();
        AtomicBoolean interrupted = new AtomicBoolean();
        workers.handle(handlers, "text.short", (message, outbox) -> {
            if (isPolled() && held.compareAndSet(false, true)) {
                interrupted.set(awaitHold());
            }
            outbox.respond(Value.of("on"));
        });
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        Waits.until("a handler that was polled hangs", () -> {
            for (int i = 0; i < BURST && !held.get(); i++) {
                calls.add(caller.callAsync(to("text.short")));
            }
            return held.get();
        });
        othersAreServed();
        caller.call(to("text.short")).close();
        Waits.until(
                "one is left",
                () -> calls.stream().filter(call -> !call.isDone()).count() == 1);

        hold.countDown();
        calls.forEach(call -> call.join().close());
        assertThat(interrupted).isFalse();
        othersAreServed();
    }

    @Test
    void aHandlerThatWasPolledMayWaitForOthersOfItsWorker() {
        AtomicInteger waited = new AtomicInteger();
        AtomicBoolean nestedOnSameThread = new AtomicBoolean();
        ThreadLocal<Boolean> inside = ThreadLocal.withInitial(() -> false);
        MessageHandler handler = (message, outbox) -> {
            if (inside.get()) {
                nestedOnSameThread.set(true);
            }
            boolean polled = isPolled();
            if (polled && waited.get() < WAITS && message.int64("depth") == 0) {
                inside.set(true);
                try (Response below = outbox.caller().call(depth("server", 1))) {
                    assertThat(below.value()).isEqualTo(Value.of("on"));
                } finally {
                    inside.remove();
                }
                waited.incrementAndGet();
            }
            outbox.respond(Value.of("on"));
        };
        workers.handle(handlers, "text.deep", handler);
        Waits.until("handlers that were polled have waited", () -> {
            List<CompletableFuture<Response>> calls = new ArrayList<>();
            for (int i = 0; i < BURST; i++) {
                calls.add(caller.callAsync(depth("server", 0)));
            }
            calls.forEach(call -> call.join().close());
            return waited.get() >= WAITS;
        });
        assertThat(nestedOnSameThread)
                .as("a plain handler ran inside of another one, on its thread")
                .isFalse();
    }

    private static Request depth(String worker, int depth) {
        Request request = Request.operation(worker, "text.deep").timeout(LONG);
        request.body().int64("depth", depth);
        return request;
    }

    @Test
    void whatAHandlerThatWasPolledLeavesBehindEndsWithItsRequest() {
        AtomicBoolean threw = new AtomicBoolean();
        AtomicBoolean sawInterrupt = new AtomicBoolean();
        AtomicInteger failures = new AtomicInteger();
        ClassLoader wanted = Workers.class.getClassLoader();
        AtomicBoolean sawOtherLoader = new AtomicBoolean();
        workers.handle(handlers, "text.short", (message, outbox) -> {
            if (Thread.currentThread().isInterrupted()) {
                sawInterrupt.set(true);
            }
            if (Thread.currentThread().getContextClassLoader() != wanted) {
                sawOtherLoader.set(true);
            }
            if (isPolled() && threw.compareAndSet(false, true)) {
                Thread.currentThread().interrupt();
                Thread.currentThread().setContextClassLoader(null);
                failures.incrementAndGet();
                throw new IllegalStateException("on purpose");
            }
            outbox.respond(Value.of("on"));
        });
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        Waits.until("a handler that was polled threw", () -> {
            for (int i = 0; i < BURST && !threw.get(); i++) {
                calls.add(caller.callAsync(to("text.short")));
            }
            return threw.get();
        });
        burst("text.short");
        List<Throwable> thrown = new ArrayList<>();
        for (CompletableFuture<Response> call : calls) {
            call.handle((response, e) -> e == null ? response : thrown.add(e)).join();
        }
        assertThat(thrown)
                .singleElement()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_FAILED));
        assertThat(failures).hasValue(1);
        assertThat(sawInterrupt).as("an interrupt of an earlier request").isFalse();
        assertThat(sawOtherLoader).as("the class loader of an earlier request").isFalse();
        othersAreServed();
    }

    @Test
    void anInterruptOfAHandlerThatWasPolledEndsWithItsRequest() {
        AtomicInteger interrupts = new AtomicInteger();
        AtomicBoolean sawInterrupt = new AtomicBoolean();
        workers.handle(handlers, "text.short", (message, outbox) -> {
            if (Thread.currentThread().isInterrupted()) {
                sawInterrupt.set(true);
            }
            if (isPolled() && interrupts.incrementAndGet() <= BURST) {
                Thread.currentThread().interrupt();
            }
            outbox.respond(Value.of("on"));
        });
        Waits.until("handlers that were polled have interrupted their thread", () -> {
            burst("text.short");
            return interrupts.get() > BURST;
        });
        assertThat(sawInterrupt).as("an interrupt of an earlier request").isFalse();
        othersAreServed();
    }

    @Test
    void aHandlerWithOneThreadRunsOneRequestAtATime() throws IOException {
        Worker second = workers.join("second");
        AtomicBoolean polled = new AtomicBoolean();
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        workers.handleOneByOne(handlers, "text.one", (message, outbox) -> {
            most.accumulateAndGet(inside.incrementAndGet(), Math::max);
            if (isPolled()) {
                polled.set(true);
            }
            Thread.onSpinWait();
            inside.decrementAndGet();
            outbox.respond(Value.of("on"));
        });
        Waits.until("its thread polls", () -> {
            List<CompletableFuture<Response>> calls = new ArrayList<>();
            for (int i = 0; i < BURST; i++) {
                calls.add(caller.callAsync(to("text.one")));
                calls.add(second.callAsync(to("text.one")));
            }
            calls.forEach(call -> call.join().close());
            return polled.get();
        });
        assertThat(most).hasValue(1);
    }

    @Test
    void requestsThatWaitAreServedWhenTheThreadThatPolledLeavesThem() {
        AtomicInteger begun = new AtomicInteger();
        workers.handleOneByOne(handlers, "text.short", (message, outbox) -> {
            begun.getAndIncrement();
            long untilNs = System.nanoTime() + 10_000; // with a backlog of such calls the thread leaves
            while (System.nanoTime() < untilNs) {
                Thread.onSpinWait();
            }
            outbox.respond(Value.of("on"));
        });
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 40 * BURST; i++) {
            calls.add(caller.callAsync(Request.operation("server", "text.short").timeout(Duration.ofSeconds(30))));
        }
        for (CompletableFuture<Response> call : calls) {
            assertThat(call)
                    .as("%d of %d requests were begun", begun.get(), calls.size())
                    .succeedsWithin(LONG)
                    .satisfies(Response::close);
        }
    }

    @Test
    void theThreadThatPollsEndsWithItsBundle() {
        AtomicBoolean polled = new AtomicBoolean();
        HandlerRegistry.Registration stay = workers.handle(handlers, "text.short", (message, outbox) -> {
            if (isPolled()) {
                polled.set(true);
            }
            outbox.respond(Value.of("on"));
        });
        call("text.short", "a thread of the handler polls", polled);
        HandlerExecutor executor = stay.entries().get(0).executor();
        CompletableFuture<Response> last = caller.callAsync(to("text.short"));
        last.join().close();

        assertThat(stay.withdraw(LONG).stillRunning()).isZero();
        assertThat(executor.close(LONG)).isZero();
        assertThat(executor.threadCount()).isZero();
        assertThat(executor.taskCount()).isZero();
        othersAreServed();
    }

    @Test
    void aHandlerThatWasPolledIsInterruptedWhenItsBundleLeaves() {
        AtomicBoolean held = new AtomicBoolean();
        AtomicBoolean interrupted = new AtomicBoolean();
        HandlerRegistry.Registration stay = workers.handle(handlers, "text.short", (message, outbox) -> {
            if (isPolled() && held.compareAndSet(false, true)) {
                interrupted.set(awaitHold());
            }
            outbox.respond(Value.of("on"));
        });
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        Waits.until("a handler that was polled hangs", () -> {
            for (int i = 0; i < BURST && !held.get(); i++) {
                calls.add(caller.callAsync(to("text.short")));
            }
            return held.get();
        });
        HandlerExecutor executor = stay.entries().get(0).executor();
        stay.withdraw(Duration.ofMillis(50));
        assertThat(executor.close(LONG)).isZero();
        assertThat(interrupted).isTrue();
        othersAreServed();
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
        workers.handleOnPoller(handlers, "text.envelope", (message, outbox) -> {
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
        workers.handle(handlers, "text.inner", (message, outbox) -> {
            threads.add(Thread.currentThread().getName());
            if (isInside("handleEnvelopes")) {
                nested.set(true);
            }
            if (isInside("runWaiting")) {
                left.set(true);
            }
            outbox.respond(Value.of("on"));
        });
        handleEnvelopes(() -> {}, () -> {});
        Waits.until("a thread that polls runs it", () -> {
            for (int i = 0; i < BURST; i++) {
                caller.call(to("text.envelope")).close();
            }
            return left.get();
        });
        assertThat(threads).allMatch(name -> name.startsWith("test-text.inner-handler-"));
        assertThat(nested).as("it ran inside of the envelope's handler").isFalse();
        othersAreServed();
    }

    @Test
    void anotherThreadRunsWhatWasLeftToAThreadThatDoesNotReturn() {
        AtomicBoolean held = new AtomicBoolean();
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger envelopes = new AtomicInteger();
        workers.handle(handlers, "text.inner", (message, outbox) -> {
            begun.incrementAndGet();
            outbox.respond(Value.of("on"));
        });
        handleEnvelopes(
                () -> {
                    envelopes.incrementAndGet();
                    if (isLed() && held.compareAndSet(false, true)) {
                        awaitHold();
                    }
                },
                () -> {});
        CompletableFuture<Void> calls = CompletableFuture.runAsync(() -> {
            while (!held.get()) {
                caller.call(to("text.envelope")).close();
            }
        });
        Waits.until("an envelope hangs on the thread that polls", held::get);
        Waits.until("what is inside of it runs", () -> begun.get() == envelopes.get());
        assertThat(calls).as("the call whose envelope hangs").isNotDone();
        othersAreServed();

        hold.countDown();
        assertThat(calls).succeedsWithin(LONG);
    }

    @Test
    void othersAreServedWhileAStageOfWhatWasLeftDoesNotReturn() {
        AtomicBoolean held = new AtomicBoolean();
        workers.handle(handlers, "text.inner", (message, outbox) -> outbox.respond(Value.of("on")));
        handleEnvelopes(() -> {}, () -> {
            if (isInside("runWaiting") && held.compareAndSet(false, true)) {
                awaitHold();
            }
        });
        CompletableFuture<Void> calls = CompletableFuture.runAsync(() -> {
            while (!held.get()) {
                caller.call(to("text.envelope")).close();
            }
        });
        Waits.until("a stage hangs on the thread that polls", held::get);
        othersAreServed();
        caller.call(to("text.envelope")).close(); // by another thread of the same bundle
        assertThat(calls).as("the call whose stage hangs").isNotDone();

        hold.countDown();
        assertThat(calls).succeedsWithin(LONG);
    }

    /** Returns whether it was interrupted. */
    private boolean awaitHold() {
        try {
            hold.await(200, TimeUnit.SECONDS);
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }
}
