package io.waybill.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Response;
import io.waybill.api.Value;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * The times of a step: one operator on a worker in another process, a sum here, a backward pass, and the release everywhere. By turns with PyTorch, if there is a
 * Python that has it. A program, not a test: {@code docs/performance/index.md} has the command.
 */
class StepTimesTest {

    private static final int[] ROWS = {1, 1000};
    /** Steps with the large matrix for one of a single element. */
    private static final int LARGE_PART = 20;

    private static final int ROUNDS = 5;
    private static final String PYTORCH = "PyTorch";

    @TempDir
    private Path directory;

    private TestWorkers workers;
    private String torchVersion;
    private final Map<String, long[]> last = new TreeMap<>(); // the times of the last round

    /** Runs steps, and returns their times in ns. */
    private interface Steps {
        long[] run(int rows, int steps) throws Exception;
    }

    /** Runs steps in PyTorch, in processes that end then: they would take a core each, also without work. Returns none if this Python can't. */
    private long[] torch(int rows, int steps) throws IOException, InterruptedException {
        Path store = Files.createTempDirectory(directory, "torch");
        File log = store.resolve("log").toFile();
        String script = Path.of("src", "test", "python", "torch_steps.py")
                .toAbsolutePath()
                .toString();
        String python = System.getProperty("waybill.python", "/usr/bin/python3");
        Process process = new ProcessBuilder(
                        python, script, store.toString(), Integer.toString(rows), Integer.toString(steps))
                .redirectError(log)
                .start();
        try (BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            String version = output.readLine();
            String times = output.readLine();
            if (times != null) {
                torchVersion = version;
                process.waitFor(1, TimeUnit.MINUTES); // it ends the other one
                return Arrays.stream(times.split(" "))
                        .mapToLong(Long::parseLong)
                        .toArray();
            }
            System.out.println(python + " has no PyTorch that can be used: "
                    + Files.readString(log.toPath())
                            .lines()
                            .reduce((before, line) -> line)
                            .orElse("it ended"));
            return new long[0];
        } finally {
            process.destroy();
            process.onExit().join();
        }
    }

    @Test
    @Tag("slow")
    @EnabledIfSystemProperty(named = "waybill.steps", matches = "\\d+")
    void measure() throws Exception {
        int steps = Integer.getInteger("waybill.steps") / ROUNDS;
        workers = TestWorkers.one(directory.resolve("home"), 0, worker -> worker);
        boolean isTorchHere = torch(1, 1).length > 0;
        try (WorkerProcess other = WorkerProcess.startFast(directory.resolve("home"), 1)) {
            other.awaitReady();
            for (int round = 1; round <= ROUNDS; round++) {
                System.out.printf("round %d of %d, load %.1f%n", round, ROUNDS, load());
                for (int rows : ROWS) {
                    int count = rows == 1 ? steps : Math.max(20, steps / LARGE_PART);
                    for (BackwardMode mode : BackwardMode.values()) {
                        measure(mode.name(), (size, n) -> steps(size, n, mode), rows, count);
                    }
                    if (isTorchHere) {
                        measure(PYTORCH, this::torch, rows, count);
                    }
                }
            }
            if (isTorchHere) {
                printRatios();
            }
        } finally {
            workers.close();
        }
    }

    private void printRatios() {
        for (int rows : ROWS) {
            for (BackwardMode mode : BackwardMode.values()) {
                long[] ours = last.get(name(mode.name(), rows));
                long[] theirs = last.get(name(PYTORCH, rows));
                System.out.printf(
                        "%s to PyTorch %s: p10 %.2f, p50 %.2f, p99 %.2f%n",
                        name(mode.name(), rows),
                        torchVersion,
                        (double) percentile(ours, 10) / percentile(theirs, 10),
                        (double) percentile(ours, 50) / percentile(theirs, 50),
                        (double) percentile(ours, 99) / percentile(theirs, 99));
            }
        }
    }

    private static double load() {
        return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
    }

    private void measure(String what, Steps steps, int rows, int count) throws Exception {
        long[] ns = steps.run(rows, count);
        Arrays.sort(ns);
        assertThat(ns).hasSize(count);
        last.put(name(what, rows), ns);
        System.out.printf(
                "%s: min %.1f us, p10 %.1f us, p50 %.1f us, p99 %.1f us%n",
                name(what, rows),
                percentile(ns, 0) / 1e3,
                percentile(ns, 10) / 1e3,
                percentile(ns, 50) / 1e3,
                percentile(ns, 99) / 1e3);
    }

    private static String name(String what, int rows) {
        return what + " " + rows + "x" + rows;
    }

    private static long percentile(long[] sorted, int percent) {
        return sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
    }

    private long[] steps(int rows, int count, BackwardMode mode) throws Exception {
        double[] elements = new double[rows * rows];
        Arrays.fill(elements, 0.5);
        Value leaf = workers.leaf(new long[] {rows, rows}, elements);
        Autograd autograd = workers.autograd(0);
        long[] ns = new long[count];
        for (int i = 0; i < count; i++) {
            long startNs = System.nanoTime();
            autograd.context(context -> {
                try (Response response =
                        workers.worker(0).rpc().rpcSync("worker1", TestWorkers.invocation("aten::mul", leaf, leaf))) {
                    Value loss = TestWorkers.ENGINE.run(TestWorkers.invocation("aten::sum", response.value()));
                    try {
                        autograd.backward(context, List.of(TestWorkers.tensor(loss)), false, mode);
                    } finally {
                        TestWorkers.tensor(loss).storage().release();
                    }
                }
            });
            ns[i] = System.nanoTime() - startNs;
        }
        workers.release();
        return ns;
    }
}
