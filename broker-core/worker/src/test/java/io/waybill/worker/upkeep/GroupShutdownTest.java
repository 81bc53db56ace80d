package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real workers of one process that leave together. */
@Timeout(300)
class GroupShutdownTest {

    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final List<String> ALL = List.of("a", "b", "c");

    @TempDir
    private Path directory;

    private Workers workers;
    private final List<Worker> all = new ArrayList<>();
    private final AtomicInteger hops = new AtomicInteger();
    private final CountDownLatch gate = new CountDownLatch(1);

    @BeforeEach
    void joinThree() throws IOException {
        workers = new Workers(directory);
        for (String name : ALL) {
            HandlerRegistry handlers = workers.registry();
            workers.handle(
                    handlers,
                    "test.work",
                    (message, outbox) -> outbox.response().int64("done", 1));
            workers.handle(handlers, "test.hop", (message, outbox) -> {
                hops.incrementAndGet();
                long left = message.int64("left");
                await(left == 10);
                if (left > 0) {
                    outbox.caller().callAsync(hop(next(name), left - 1));
                }
                outbox.response();
            });
            all.add(workers.join(name, handlers));
        }
        for (Worker from : all) {
            ALL.forEach(to -> Waits.until("all are linked", () -> work(from, to)));
        }
    }

    @AfterEach
    void close() throws IOException {
        gate.countDown();
        workers.close();
    }

    private void await(boolean isGate) {
        try {
            assertThat(!isGate || gate.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean work(Worker from, String to) {
        try (Response response = from.call(Request.operation(to, "test.work"))) {
            return response.int64("done") == 1;
        }
    }

    private static String next(String name) {
        return ALL.get((ALL.indexOf(name) + 1) % ALL.size());
    }

    private static Request hop(String to, long left) {
        Request hop = Request.operation(to, "test.hop");
        hop.body().int64("left", left);
        return hop;
    }

    private static CompletableFuture<String> leave(Worker worker) {
        CompletableFuture<String> left = new CompletableFuture<>();
        new Thread(() -> {
                    try {
                        left.complete(worker.shutdown(LONG, ALL));
                    } catch (RuntimeException e) {
                        left.completeExceptionally(e);
                    }
                })
                .start();
        return left;
    }

    private Worker worker(String name) {
        return all.get(ALL.indexOf(name));
    }

    private void assertStays(CompletableFuture<String> leaving, String name) {
        Waits.until(
                name + " has asked to leave",
                () -> worker(name)
                        .directory()
                        .record()
                        .settings()
                        .getOrDefault("leaving", "")
                        .startsWith("quiet"));
        assertThat(leaving).isNotDone();
    }

    @Test
    void servesOthersUntilTheyHaveDoneTheirWork() throws Exception {
        Worker a = worker("a");
        CompletableFuture<String> b = leave(worker("b"));
        CompletableFuture<String> c = leave(worker("c"));
        assertStays(b, "b");
        assertStays(c, "c");
        for (int i = 0; i < 30; i++) {
            assertThat(work(a, "b")).isTrue();
        }
        for (int i = 0; i < 30; i++) {
            assertThat(work(a, "c")).isTrue();
        }
        assertStays(b, "b");
        assertStays(c, "c");

        assertThat(leave(a).get()).isEmpty();
        assertThat(b.get()).isEmpty();
        assertThat(c.get()).isEmpty();
    }

    @Test
    void waitsForAChainOfCallsThatNoThreadWaitsFor() throws Exception {
        worker("a").call(hop("b", 20)).close();
        List<CompletableFuture<String>> leaving =
                all.stream().map(GroupShutdownTest::leave).toList();
        Waits.until("the chain has come half its way", () -> hops.get() == 11);
        leaving.forEach(each -> assertThat(each).isNotDone());

        gate.countDown();

        for (CompletableFuture<String> each : leaving) {
            assertThat(each.get()).isEmpty();
        }
        assertThat(hops).hasValue(21);
    }

    @Test
    void waitsForListenersThatCallOn() throws Exception {
        AtomicInteger responded = new AtomicInteger();
        CompletableFuture<?> chain = CompletableFuture.completedFuture(null);
        for (int i = 0; i < 200; i++) {
            String to = ALL.get(i % ALL.size());
            chain = chain.thenCompose(ignored -> worker("a").callAsync(Request.operation(to, "test.work")))
                    .thenAccept(response -> {
                        response.close();
                        responded.incrementAndGet();
                    });
        }
        for (CompletableFuture<String> each :
                all.stream().map(GroupShutdownTest::leave).toList()) {
            assertThat(each.get()).isEmpty();
        }
        assertThat(responded).hasValue(200);
        assertThat(chain).isCompleted();
    }

    @Test
    void givesBackReferencesWhenTheWorkIsDone() throws Exception {
        Worker a = worker("a");
        RRef shared = worker("b").rpc().rref(Value.of(1));
        Request request = Request.operation("a", "test.work");
        request.body().value("reference", Value.of(shared));
        worker("b").call(request).close();

        List<CompletableFuture<String>> leaving =
                all.stream().map(GroupShutdownTest::leave).toList();

        for (CompletableFuture<String> each : leaving) {
            assertThat(each.get()).isEmpty();
        }
        assertThat(a.rpc().debugInfo().values()).containsOnly("0");
    }

    @Test
    void namesThoseWhomItWaitedForInVain() throws Exception {
        CompletableFuture<Response> late = worker("c").callAsync(hop("a", 10));
        Waits.until("the handler runs", () -> hops.get() == 1);
        assertThat(worker("a").shutdown(SHORT, ALL)).isEqualTo("Timed out waiting for the work of a, b, c to end.");
        gate.countDown();
        late.get().close();
    }

    @Test
    void doesNotWaitForThoseThatLeft() throws Exception {
        Worker a = worker("a");
        worker("b").close();
        worker("c").close();

        assertThat(a.shutdown(LONG, ALL)).isEmpty();
        assertThat(a.shutdown(LONG, List.of("1", "2"))).isEmpty();
        assertThat(a.shutdown(SHORT, List.of("nobody"))).isEqualTo("Timed out waiting for the work of nobody to end.");
    }
}
