package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Plain handlers that run on the thread that read their requests, in real workers. */
@Timeout(300)
class HandlerPollingTest {

    private static final int WAITS = 10;

    @TempDir
    private Path directory;

    private PolledServer server;
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker caller;

    @BeforeEach
    void join() throws IOException {
        server = new PolledServer(directory);
        workers = server.workers;
        handlers = server.handlers;
        caller = server.caller;
    }

    @AfterEach
    void leave() throws IOException {
        server.close();
    }

    /** Returns whether the calling handler runs on the thread that read its request. */
    private static boolean isPolled() {
        return PolledServer.isInside("runPolled");
    }

    /** Calls until the condition holds. */
    private void call(String operation, String what, AtomicBoolean condition) {
        Waits.until(what, () -> {
            if (!condition.get()) {
                server.burst(operation);
            }
            return condition.get();
        });
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
        server.othersAreServed();
    }

    @Test
    void runsLongHandlersOnTheThreadThatReadTheirRequestsAndServesOthersMeanwhile() {
        AtomicInteger polled = new AtomicInteger();
        AtomicReference<CompletableFuture<Response>> other = new AtomicReference<>();
        workers.handle(handlers, "text.long", (message, outbox) -> {
            if (isPolled()) {
                polled.incrementAndGet();
            }
            other.set(caller.callAsync(PolledServer.to("text.other")));
            other.get().join().close();
            outbox.respond(Value.of("on"));
        });
        Waits.until("a thread of the handler polls, and leads again after each of them", () -> {
            caller.call(PolledServer.to("text.long")).close();
            return polled.get() >= WAITS;
        });
    }

    @Test
    void leavesTheLeadToTheBundleWhoseRequestsCome() {
        for (String operation : List.of("text.one", "text.two")) {
            AtomicInteger polled = new AtomicInteger();
            workers.handle(handlers, operation, (message, outbox) -> {
                if (isPolled()) {
                    polled.incrementAndGet();
                }
                outbox.respond(Value.of("on"));
            });
            Waits.until("a thread of " + operation + " polls, as requests of no other come", () -> {
                caller.call(PolledServer.to(operation)).close();
                return polled.get() >= WAITS;
            });
        }
    }

    @Test
    void anotherThreadPollsWhileAHandlerThatWasPolledDoesNotReturn() {
        AtomicBoolean held = new AtomicBoolean();
        AtomicBoolean interrupted = new AtomicBoolean();
        workers.handle(handlers, "text.short", (message, outbox) -> {
            if (isPolled() && held.compareAndSet(false, true)) {
                interrupted.set(server.awaitHold());
            }
            outbox.respond(Value.of("on"));
        });
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        Waits.until("a handler that was polled hangs", () -> {
            for (int i = 0; i < PolledServer.BURST && !held.get(); i++) {
                calls.add(caller.callAsync(PolledServer.to("text.short")));
            }
            return held.get();
        });
        server.othersAreServed();
        caller.call(PolledServer.to("text.short")).close();
        Waits.until(
                "one is left",
                () -> calls.stream().filter(call -> !call.isDone()).count() == 1);

        server.goOn();
        calls.forEach(call -> call.join().close());
        assertThat(interrupted).isFalse();
        server.othersAreServed();
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
            for (int i = 0; i < PolledServer.BURST; i++) {
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
        Request request = Request.operation(worker, "text.deep").timeout(PolledServer.LONG);
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
            for (int i = 0; i < PolledServer.BURST && !threw.get(); i++) {
                calls.add(caller.callAsync(PolledServer.to("text.short")));
            }
            return threw.get();
        });
        server.burst("text.short");
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
        server.othersAreServed();
    }

    @Test
    void anInterruptOfAHandlerThatWasPolledEndsWithItsRequest() {
        AtomicInteger interrupts = new AtomicInteger();
        AtomicBoolean sawInterrupt = new AtomicBoolean();
        workers.handle(handlers, "text.short", (message, outbox) -> {
            if (Thread.currentThread().isInterrupted()) {
                sawInterrupt.set(true);
            }
            if (isPolled() && interrupts.incrementAndGet() <= PolledServer.BURST) {
                Thread.currentThread().interrupt();
            }
            outbox.respond(Value.of("on"));
        });
        Waits.until("handlers that were polled have interrupted their thread", () -> {
            server.burst("text.short");
            return interrupts.get() > PolledServer.BURST;
        });
        assertThat(sawInterrupt).as("an interrupt of an earlier request").isFalse();
        server.othersAreServed();
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
            for (int i = 0; i < PolledServer.BURST; i++) {
                calls.add(caller.callAsync(PolledServer.to("text.one")));
                calls.add(second.callAsync(PolledServer.to("text.one")));
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
        for (int i = 0; i < 40 * PolledServer.BURST; i++) {
            calls.add(caller.callAsync(Request.operation("server", "text.short").timeout(Duration.ofSeconds(30))));
        }
        for (CompletableFuture<Response> call : calls) {
            assertThat(call)
                    .as("%d of %d requests were begun", begun.get(), calls.size())
                    .succeedsWithin(PolledServer.LONG)
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
        CompletableFuture<Response> last = caller.callAsync(PolledServer.to("text.short"));
        last.join().close();

        assertThat(stay.withdraw(PolledServer.LONG).stillRunning()).isZero();
        assertThat(executor.close(PolledServer.LONG)).isZero();
        assertThat(executor.threadCount()).isZero();
        assertThat(executor.taskCount()).isZero();
        server.othersAreServed();
    }

    @Test
    void aHandlerThatWasPolledIsInterruptedWhenItsBundleLeaves() {
        AtomicBoolean held = new AtomicBoolean();
        AtomicBoolean interrupted = new AtomicBoolean();
        HandlerRegistry.Registration stay = workers.handle(handlers, "text.short", (message, outbox) -> {
            if (isPolled() && held.compareAndSet(false, true)) {
                interrupted.set(server.awaitHold());
            }
            outbox.respond(Value.of("on"));
        });
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        Waits.until("a handler that was polled hangs", () -> {
            for (int i = 0; i < PolledServer.BURST && !held.get(); i++) {
                calls.add(caller.callAsync(PolledServer.to("text.short")));
            }
            return held.get();
        });
        HandlerExecutor executor = stay.entries().get(0).executor();
        stay.withdraw(Duration.ofMillis(50));
        assertThat(executor.close(PolledServer.LONG)).isZero();
        assertThat(interrupted).isTrue();
        server.othersAreServed();
    }
}
