package io.waybill.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.worker.WorkerSettings;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** The memory of many steps, one after the other: one operator on another worker in a context, a sum here, a backward pass, and the release everywhere. */
class StepsTest {

    /** Calls in flight: the table of calls is filled once, by the first calls. */
    private static final int CALLS = 1024;
    /** Steps before the memory of later ones is compared: caches, pools and compiled code are there then. */
    private static final int WARM_UP = 2_000;

    private static final int STEPS = 4_000;
    /** The tables of released contexts and of calls fill once, with 266 bytes a step, until some 40,000 steps; this is twice as much. */
    private static final long MAX_HEAP_GROWTH = 2 << 20;

    private static final long MAX_NATIVE_GROWTH = 48 << 20;

    @TempDir
    private Path directory;

    private TestWorkers workers;

    private void join() throws Exception {
        WorkerSettings defaults = WorkerSettings.defaults();
        WorkerSettings few = defaults.toBuilder()
                .limits(new io.waybill.worker.peer.FlowLimits(
                        CALLS,
                        defaults.limits().bytesPerPeer(),
                        CALLS,
                        defaults.limits().overflow()))
                .build();
        workers = TestWorkers.of(directory.resolve("home"), 2, worker -> worker.settings(few));
    }

    private void step(Value leaf, BackwardMode mode) throws RejectedMessageException {
        Autograd autograd = workers.autograd(0);
        autograd.context(context -> {
            try (Response response =
                    workers.worker(0).rpc().rpcSync("worker1", TestWorkers.invocation("aten::mul", leaf, leaf))) {
                Value loss = TestWorkers.ENGINE.run(new Invocation("aten::sum", List.of(response.value()), Map.of()));
                try {
                    autograd.backward(context, List.of(TestWorkers.tensor(loss)), false, mode);
                } finally {
                    TestWorkers.tensor(loss).storage().release();
                }
            }
        });
    }

    /** What is used after many steps, without garbage. */
    private record Memory(long heap, long anonymous, long pointers, int handles) {

        static Memory now() throws Exception {
            for (int i = 0; i < 3; i++) {
                System.gc();
            }
            long anonymousKiB = Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith("RssAnon"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                    .sum();
            return new Memory(
                    ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
                    anonymousKiB << 10,
                    Pointer.totalCount(),
                    TestWorkers.NATIVES.liveCount());
        }
    }

    @Test
    @Tag("ci")
    @Timeout(600)
    @SuppressWarnings("try")
    void memoryStaysFlat() throws Exception {
        join();
        try (TestWorkers closed = workers) {
            Value leaf = workers.leaf(new long[] {1}, 1.5);
            for (int i = 0; i < WARM_UP; i++) {
                step(leaf, BackwardMode.values()[i % 2]);
            }
            Memory before = Memory.now();
            for (int i = 0; i < STEPS; i++) {
                step(leaf, BackwardMode.values()[i % 2]);
            }
            Memory after = Memory.now();
            String both = "%s, after %d steps %s".formatted(before, STEPS, after);
            assertThat(after.handles - before.handles).as("handles: " + both).isBetween(-10, 10);
            assertThat(after.pointers - before.pointers).as("pointers: " + both).isLessThan(2_000);
            assertThat(after.heap - before.heap).as("Java heap: " + both).isLessThan(MAX_HEAP_GROWTH);
            assertThat(after.anonymous - before.anonymous)
                    .as("memory of the process without files: " + both)
                    .isLessThan(MAX_NATIVE_GROWTH);
        }
    }

    /** Prints the memory: {@code docs/performance/index.md} has the command. The property is the number of steps. */
    @Test
    @Tag("slow")
    @EnabledIfSystemProperty(named = "waybill.steps", matches = "\\d+")
    @SuppressWarnings("try")
    void measure() throws Exception {
        int steps = Integer.getInteger("waybill.steps");
        join();
        try (TestWorkers closed = workers) {
            Value one = workers.leaf(new long[] {1}, 1.5);
            for (int done = 0; done <= steps; done++) {
                if (done % (steps / 10) == 0) {
                    System.out.println(done + " steps: " + Memory.now());
                }
                step(one, BackwardMode.values()[done % 2]);
            }
        }
    }
}
