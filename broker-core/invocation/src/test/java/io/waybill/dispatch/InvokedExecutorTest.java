package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.SimulatedTime;
import io.waybill.host.agent.Invoker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The threads of handlers, one at a time. */
@Timeout(60)
class InvokedExecutorTest {

    private static final Duration LIMIT = Duration.ofSeconds(1);
    private static final Duration KEEP_ALIVE = Duration.ofSeconds(10);

    private final SimulatedTime time = new SimulatedTime(new Random(1));
    private final Invoker invoker = new Invoker(time, time);
    private final Invoker.Group threads = invoker.newGroup();
    private final HandlerExecutor executor = new HandlerExecutor(
            "acme", new ExecutorSettings(2, 8, 100_000, 0, KEEP_ALIVE), threads, time, PolledTasks.Source.PLAIN);

    private void pass(Duration by) {
        long untilNs = time.monotonicNs() + by.toNanos();
        while (time.monotonicNs() - untilNs < 0) {
            invoker.step(untilNs);
        }
    }

    @Test
    void runsItsTasksInTurns() {
        List<String> ran = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            executor.execute(() -> {
                String name = Thread.currentThread().getName();
                ran.add(name);
                threads.giveWay();
                ran.add(name);
            });
        }
        assertThat(ran).isEmpty();
        pass(LIMIT);
        assertThat(ran).hasSize(10).allMatch(name -> name.startsWith("acme-handler-"));
        assertThat(executor.taskCount()).isZero();
        assertThat(threads.alive()).containsAll(ran);
    }

    @Test
    void aTaskWaitsForAnotherOne() {
        CompletableFuture<String> given = new CompletableFuture<>();
        List<String> ran = new ArrayList<>();
        executor.execute(() -> {
            threads.await(ns -> given.isDone(), LIMIT.toNanos());
            ran.add(given.getNow("nothing"));
        });
        executor.execute(() -> given.complete("given"));
        pass(LIMIT);
        assertThat(ran).containsExactly("given");
    }

    @Test
    void idleThreadsEndAfterAWhileAndOthersWithTheExecutor() {
        executor.execute(() -> {});
        pass(KEEP_ALIVE.plus(LIMIT));
        assertThat(threads.alive()).isEmpty();
        executor.execute(() -> {});
        pass(LIMIT);
        assertThat(threads.alive()).hasSize(1);
        assertThat(executor.close(LIMIT)).isZero();
        assertThat(threads.alive()).isEmpty();
    }
}
