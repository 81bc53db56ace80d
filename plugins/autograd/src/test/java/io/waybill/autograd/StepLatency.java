package io.waybill.autograd;

import io.waybill.api.Value;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;

/**
 * What a step takes from end to end: one operator on another worker in a context, a backward pass, and the release everywhere. Prints p50 and p99 in microseconds, per
 * mode, for one element and for matrices of 1000×1000; then the memory of many steps, at intervals. Run its main method, with {@code -Dwaybill.torch.natives}.
 * Arguments: the number of steps for the times, and for the memory.
 */
public final class StepLatency {

    private static final int ROWS = 1000;

    private StepLatency() {}

    /** Measures. */
    public static void main(String[] arguments) throws Exception {
        int timed = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 20_000;
        int many = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 100_000;
        try (TestWorkers workers = TestWorkers.of(Files.createTempDirectory("waybill-steps"), 2)) {
            System.out.println(
                    "load " + ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
            Value small = workers.leaf(new long[] {1}, 1.5);
            for (BackwardMode mode : BackwardMode.values()) {
                print(mode + " one element", times(workers, small, mode, timed));
            }
            double[] elements = new double[ROWS * ROWS];
            Arrays.fill(elements, 0.5);
            Value large = workers.leaf(new long[] {ROWS, ROWS}, elements);
            for (BackwardMode mode : BackwardMode.values()) {
                print(mode + " 1000x1000", times(workers, large, mode, Math.max(20, timed / 200)));
            }
            for (int done = 0; done <= many; done += many / 10) {
                memory(done);
                times(workers, small, BackwardMode.SMART, many / 10);
            }
            System.out.println(
                    "load " + ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
        }
    }

    private static void print(String what, long[] ns) {
        long[] warm = Arrays.copyOfRange(ns, ns.length / 2, ns.length);
        Arrays.sort(warm);
        System.out.printf(
                "%s: p50 %.1f us, p99 %.1f us, min %.1f us%n",
                what, warm[warm.length / 2] / 1e3, warm[warm.length * 99 / 100] / 1e3, warm[0] / 1e3);
    }

    private static long[] times(TestWorkers workers, Value leaf, BackwardMode mode, int steps) throws Exception {
        Autograd autograd = workers.autograd(0);
        long[] ns = new long[steps];
        for (int i = 0; i < steps; i++) {
            long start = System.nanoTime();
            autograd.context(context -> {
                try (var response =
                        workers.worker(0).rpc().rpcSync("worker1", TestWorkers.invocation("aten::mul", leaf, leaf))) {
                    Value loss = TestWorkers.ENGINE.run(
                            new io.waybill.api.Invocation("aten::sum", List.of(response.value()), Map.of()));
                    try {
                        autograd.backward(context, List.of(TestWorkers.tensor(loss)), false, mode);
                    } finally {
                        TestWorkers.tensor(loss).storage().release();
                    }
                }
            });
            ns[i] = System.nanoTime() - start;
        }
        return ns;
    }

    private static void memory(int steps) throws Exception {
        System.gc();
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        String rss = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("RssAnon"))
                .findFirst()
                .orElse("");
        System.out.printf(
                "%d steps: heap %d KiB, %s, pointers %d, handles %d%n",
                steps, heap >> 10, rss.replaceAll("\\s+", " "), Pointer.totalCount(), TestWorkers.NATIVES.liveCount());
    }
}
