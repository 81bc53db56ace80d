package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers in processes of their own that are killed during backward passes. The driver is in this one. */
@Tag("ci")
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class KilledWorkersTest {

    private static final int WORKERS = 3;
    private static final String ROUTE = "worker1 worker2 worker3";
    private static final int CALLS = 3; // of each step
    private static final double GRADIENT = CALLS * Math.pow(RelayHandler.FACTOR, WORKERS);
    private static final int PATIENCE_S = 120;

    @TempDir
    private Path directory;

    private final WorkerProcess[] processes = new WorkerProcess[WORKERS + 1];
    private final List<Long> errorNs = new ArrayList<>();
    private final List<Long> releaseNs = new ArrayList<>();
    private TestWorkers driver;
    private Autograd autograd;

    @BeforeEach
    void start() throws Exception {
        Path home = directory.resolve("home");
        driver = TestWorkers.one(home, 0, worker -> worker);
        autograd = driver.autograd(0);
        for (int i = 1; i <= WORKERS; i++) {
            processes[i] = WorkerProcess.start(home, i);
        }
        for (int i = 1; i <= WORKERS; i++) {
            processes[i].awaitReady();
        }
    }

    @AfterEach
    void end() throws Exception {
        for (int i = 1; i <= WORKERS; i++) {
            processes[i].close();
        }
        driver.close();
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles of the driver").isZero();
    }

    @Test
    void theDriverIsNotifiedAndNothingRemains() throws Exception {
        kill(5, Seeds.one(14));
    }

    @Test
    @Tag("slow")
    void theDriverIsNotifiedAndNothingRemainsAHundredTimes() throws Exception {
        kill(100, Seeds.fresh());
        System.out.println("from the kill to the error, ms: " + milliseconds(errorNs));
        System.out.println("release, ms: " + milliseconds(releaseNs));
        assertThat(Collections.max(errorNs)).as("from the kill to the error").isLessThan(TimeUnit.SECONDS.toNanos(1));
    }

    private static String lastMs(List<Long> times) {
        return times.isEmpty() ? "-" : String.valueOf(times.get(times.size() - 1) / 1_000 / 1e3);
    }

    private static String milliseconds(List<Long> times) {
        Collections.sort(times);
        return "p50 " + times.get(times.size() / 2) / 1e6 + ", max " + times.get(times.size() - 1) / 1e6;
    }

    /** Kills workers, each in a pass of its own, until this many passes have failed of it. */
    private void kill(int kills, long seed) throws Exception {
        Random random = new Random(seed);
        step();
        long passNs = step();
        while (errorNs.size() < kills) {
            int victim = 1 + random.nextInt(WORKERS);
            String what = "kill " + errorNs.size() + " of worker" + victim + ", " + Seeds.option(seed);
            killDuringPass(victim, random, passNs, what);
            processes[victim].awaitReady();
            step();
            awaitNothing("after the next step, " + what);
            System.out.printf(
                    "%s: error %d after %s ms, released in %s ms%n",
                    what, errorNs.size(), lastMs(errorNs), lastMs(releaseNs));
        }
    }

    private void killDuringPass(int victim, Random random, long passNs, String what) throws Exception {
        BackwardMode mode = random.nextBoolean() ? BackwardMode.SMART : BackwardMode.FAST;
        boolean isBackEarly = random.nextBoolean();
        Value leaf = driver.leaf(new long[] {2}, 1, 2);
        long context = autograd.open();
        Value loss = forward(leaf);
        CompletableFuture<Void> pass =
                CompletableFuture.runAsync(() -> autograd.backward(context, List.of(tensor(loss)), false, mode));
        CompletableFuture<Long> endedNs = pass.handle((done, failure) -> System.nanoTime());
        LockSupport.parkNanos((long) (random.nextDouble() * passNs));
        long killedNs = processes[victim].kill();
        if (isBackEarly) {
            processes[victim] = WorkerProcess.start(directory.resolve("home"), victim);
        }
        try {
            pass.get(PATIENCE_S, TimeUnit.SECONDS); // it may have ended before
        } catch (ExecutionException e) {
            errorNs.add(endedNs.join() - killedNs);
            assertThat(e.getCause()).as(what).isInstanceOf(CallException.class).hasMessageContaining("worker" + victim);
        }
        awaitNoPass("before the context is released, " + what);
        long releasedNs = System.nanoTime();
        autograd.release(context);
        releaseNs.add(System.nanoTime() - releasedNs);
        if (!isBackEarly) {
            awaitNothing("while the worker is away, " + what);
            processes[victim] = WorkerProcess.start(directory.resolve("home"), victim);
        }
        driver.release();
    }

    private Value forward(Value leaf) {
        Value sum = null;
        for (int i = 0; i < CALLS; i++) {
            try (Response response = driver.worker(0).call(RelayHandler.request(ROUTE, leaf))) {
                response.tensors().forEach(tensor -> tensor.storage().retain());
                Value result = driver.keep(response.value("tensor"));
                sum = sum == null ? result : driver.local("aten::add", sum, result);
            }
        }
        return driver.local("aten::sum", sum);
    }

    /** Runs a step, and returns how long its pass took, in nanoseconds. */
    private long step() {
        long[] passNs = new long[1];
        Value leaf = driver.leaf(new long[] {2}, 1, 2);
        autograd.context(context -> {
            Value loss = forward(leaf);
            long beganNs = System.nanoTime();
            autograd.backward(context, List.of(tensor(loss)));
            passNs[0] = System.nanoTime() - beganNs;
            try (ContextGradients gradients = autograd.gradients(context)) {
                assertThat(elements(gradients.of(tensor(leaf)).orElseThrow())).containsExactly(GRADIENT, GRADIENT);
            }
        });
        driver.release();
        return passNs[0];
    }

    private void awaitNoPass(String when) throws Exception {
        for (int i = 1; i <= WORKERS; i++) {
            WorkerProcess process = processes[i];
            if (process.isServing()) {
                String name = "worker" + i;
                Waits.until(
                        () -> when + ", " + name + " has a pass; its log:\n" + process.log(),
                        () -> process.ask("counts", "counts").contains(" passes 0 "));
            }
        }
    }

    private void awaitNothing(String when) throws Exception {
        String nothing = "contexts 0 passes 0 handles 0 storages 0";
        driver.release();
        Waits.until(
                () -> when + ", the driver has " + WorkerProgram.counts(autograd),
                () -> WorkerProgram.counts(autograd).equals(nothing));
        for (int i = 1; i <= WORKERS; i++) {
            WorkerProcess process = processes[i];
            if (process.isServing()) {
                String[] last = new String[1];
                int id = i;
                Waits.until(() -> when + ", worker" + id + " has " + last[0] + "; its log:\n" + process.log(), () -> {
                    last[0] = process.ask("counts", "counts");
                    return last[0].equals(nothing);
                });
            }
        }
    }

    @Test
    void whatAWorkerHadComputedIsGoneWithIt() throws Exception {
        for (BackwardMode mode : BackwardMode.values()) {
            Value leaf = driver.leaf(new long[] {2}, 1, 2);
            autograd.context(context -> {
                Value loss = forward(leaf);
                processes[1].kill();
                processes[1] = WorkerProcess.start(directory.resolve("home"), 1).awaitReady();
                Waits.until(
                        "it is back",
                        () -> driver.worker(0).broker().peers().stream()
                                .anyMatch(peer -> peer.worker().id() == 1 && peer.epoch() > 1));
                assertThatThrownBy(() -> autograd.backward(context, List.of(tensor(loss)), false, mode))
                        .isInstanceOf(CallException.class)
                        .hasMessageContaining("worker worker1 has ended");
                Value next = forward(leaf); // the context is usable
                autograd.backward(context, List.of(tensor(next)));
            });
            driver.release();
            awaitNothing("after a context that a worker left");
        }
    }

    @Test
    void contextsOfADriverThatIsKilledExpire() throws Exception {
        try (WorkerProcess other =
                WorkerProcess.start(directory.resolve("home"), WORKERS + 1).awaitReady()) {
            other.ask("drive " + ROUTE, "driving");
            for (int i = 1; i <= WORKERS; i++) {
                assertThat(processes[i].ask("counts", "counts")).startsWith("contexts 1 ");
            }
            other.kill();
        }
        awaitNothing("after the end of the driver");
        step();
    }
}
