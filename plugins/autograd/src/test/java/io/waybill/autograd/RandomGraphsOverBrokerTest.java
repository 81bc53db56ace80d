package io.waybill.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.autograd.graph.PassMode;
import io.waybill.autograd.graph.RandomGraph;
import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Computations over workers that call each other have the gradients of the same computation without workers, and the same bits in each run. */
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class RandomGraphsOverBrokerTest {

    private static final int MAX_WORKERS = 4;
    private static final int THREADS = 2;

    @TempDir
    private Path directory;

    @Test
    void haveTheGradientsOfOneProcess() throws Exception {
        check(20);
    }

    @Test
    @Tag("ci")
    void haveTheGradientsOfOneProcessInAThousandGraphs() throws Exception {
        check(1000);
    }

    private void check(int rounds) throws Exception {
        try (TestWorkers workers = TestWorkers.of(
                directory.resolve("home"), MAX_WORKERS, worker -> worker.with(new BrokerWorkers.Steps()))) {
            inThreads(Seeds.count(1, rounds), seed -> {
                for (PassMode mode : PassMode.values()) {
                    check(workers, seed, mode);
                }
            });
            for (int i = 0; i < MAX_WORKERS; i++) {
                Autograd each = workers.autograd(i);
                Waits.until(
                        () -> "contexts are released: " + each.contexts(),
                        () -> each.contexts().isEmpty() && each.passes() == 0);
            }
        }
        Waits.until(() -> TestWorkers.NATIVES.liveCount() + " handles", () -> TestWorkers.NATIVES.liveCount() == 0);
    }

    /** Several contexts at a time, each of one thread. The first failure is thrown as it is. */
    private static void inThreads(LongStream seeds, LongConsumer check) throws InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<?>> checks = new ArrayList<>();
            seeds.forEach(seed -> checks.add(threads.submit(() -> check.accept(seed))));
            for (Future<?> each : checks) {
                each.get();
            }
        } catch (ExecutionException e) {
            throw (AssertionError) e.getCause();
        } finally {
            threads.shutdownNow();
            threads.awaitTermination(1, TimeUnit.MINUTES);
        }
    }

    private static void check(TestWorkers workers, long seed, PassMode mode) {
        String what = mode + ", " + Seeds.option(seed);
        try {
            List<double[]> gradients = run(workers, seed, mode, what);
            assertThat(RandomGraph.bits(run(workers, seed, mode, what)))
                    .as("run again, " + what)
                    .isEqualTo(RandomGraph.bits(gradients));
        } catch (RuntimeException e) {
            throw new AssertionError(what, e);
        }
    }

    private static List<double[]> run(TestWorkers workers, long seed, PassMode mode, String what) {
        Autograd autograd = workers.autograd(0);
        long context = autograd.open();
        try {
            int count = 2 + (int) Math.floorMod(seed, MAX_WORKERS - 1L);
            BrokerWorkers spread = new BrokerWorkers(workers, count, context, seed);
            RandomGraph graph = new RandomGraph(spread, seed, mode, seed % 2 == 0);
            List<double[]> gradients = graph.backward();
            graph.assertGradients(gradients, what);
            return gradients;
        } finally {
            autograd.release(context);
        }
    }
}
