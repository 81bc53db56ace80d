package io.waybill.cuda.check;

import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Times copies to and from the first device through the broker, by turns with bare ones of the same size. For one thread. */
final class GpuBenchmark {

    /** Which way bytes go. */
    enum Direction {
        TO_DEVICE,
        TO_HOST
    }

    /**
     * Times of one size and direction.
     *
     * @param waiting how the workers wait
     * @param bareNs median of a pinned asynchronous copy, and the wait for it
     * @param brokerNs median of a call whose tensor is copied once
     * @param callNs median of a call with {@link #SMALL} bytes instead, by turns with the same copies: what a call costs without them
     * @param coldNs of such a call before all others
     * @param firstNs of the first call of this size, which gets memory that is neither pinned nor allocated yet
     * @param inFlight what runs at a time for the last two
     * @param bareInFlightNs median for that many copies
     * @param brokerInFlightNs median for that many calls
     */
    record Result(
            Waiting waiting,
            Direction direction,
            long bytes,
            int rounds,
            long bareNs,
            long brokerNs,
            long callNs,
            long coldNs,
            long firstNs,
            int inFlight,
            long bareInFlightNs,
            long brokerInFlightNs) {

        /** How much of the bare throughput the broker reaches. */
        double ratio() {
            return (double) bareNs / brokerNs;
        }

        /** How much of it the broker reaches with several calls at a time. */
        double inFlightRatio() {
            return (double) bareInFlightNs / brokerInFlightNs;
        }
    }

    /** Copies so many times, and waits for all. */
    private interface Step {
        void run(int count) throws IOException;
    }

    private static final int SMALL = 64;
    private static final int WARM_UP = 5; // segments are pinned behind the first calls
    private static final int CALLS_PER_ROUND = 40; // with which the path of a call is compiled
    private static final int MAX_IN_FLIGHT = 4;
    private static final long MAX_BYTES_IN_FLIGHT = 512L << 20;

    private final GpuWorkers workers;
    private final Waiting waiting;
    private final int rounds;
    private final long[] coldNs = new long[Direction.values().length];

    private GpuBenchmark(GpuWorkers workers, Waiting waiting, int rounds) {
        this.workers = workers;
        this.waiting = waiting;
        this.rounds = rounds;
    }

    static List<Result> run(Path home, int[] megabytes, int rounds) throws IOException {
        List<Result> results = new ArrayList<>();
        for (Waiting waiting : List.of(Waiting.BALANCED, Waiting.SPIN)) {
            WorkerSettings settings = WorkerSettings.builder().waiting(waiting).build();
            try (GpuWorkers workers = new GpuWorkers(home.resolve(waiting.name()), settings)) {
                GpuBenchmark benchmark = new GpuBenchmark(workers, waiting, rounds);
                benchmark.warmUp();
                for (int each : megabytes) {
                    for (Direction direction : Direction.values()) {
                        results.add(benchmark.measure(direction, Math.multiplyExact(each, 1 << 20)));
                    }
                }
            }
        }
        return results;
    }

    private void warmUp() throws IOException {
        for (Direction direction : Direction.values()) {
            Tensor[] small = tensors(direction, SMALL, 1);
            Step step = step(direction, small);
            coldNs[direction.ordinal()] = time(step, 1);
            for (int i = 0; i < rounds * CALLS_PER_ROUND; i++) {
                step.run(1);
            }
            release(small);
        }
    }

    /** Returns tensors of the caller to be sent; to be released. For the way to the host, the server keeps a copy of one. */
    private Tensor[] tensors(Direction direction, int bytes, int count) {
        Tensor[] tensors = new Tensor[direction == Direction.TO_DEVICE ? count : 1];
        for (int i = 0; i < tensors.length; i++) {
            tensors[i] = workers.tensor(bytes, i);
        }
        if (direction == Direction.TO_HOST) {
            workers.call("gpu.keep", tensors[0]).join().close();
        }
        return tensors;
    }

    private static void release(Tensor... tensors) {
        for (Tensor tensor : tensors) {
            tensor.storage().release();
        }
    }

    private Step step(Direction direction, Tensor... tensors) {
        return direction == Direction.TO_DEVICE
                ? count -> calls(count, tensors)
                : count -> await(count, () -> workers.call("gpu.give"));
    }

    private void calls(int count, Tensor... tensors) {
        int[] next = new int[1];
        await(count, () -> workers.call("gpu.take", tensors[next[0]++]));
    }

    private static void await(int count, Supplier<CompletableFuture<Response>> call) {
        List<CompletableFuture<Response>> calls = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            calls.add(call.get());
        }
        calls.forEach(each -> each.join().close());
    }

    private Result measure(Direction direction, int bytes) throws IOException {
        int inFlight = (int) Math.max(1, Math.min(MAX_IN_FLIGHT, MAX_BYTES_IN_FLIGHT / bytes));
        Tensor[] large = tensors(direction, bytes, inFlight);
        try (BareCopies copies = new BareCopies(bytes, inFlight)) {
            Step bare = direction == Direction.TO_DEVICE ? copies::toDevice : copies::toHost;
            Step broker = step(direction, large);
            long firstNs = time(broker, 1);
            long[] one = medians(1, bare, broker);
            long[] several = medians(inFlight, bare, broker);
            Tensor[] small = tensors(direction, SMALL, 1);
            long[] without = medians(1, bare, step(direction, small));
            release(small);
            return new Result(
                    waiting,
                    direction,
                    bytes,
                    rounds,
                    one[0],
                    one[1],
                    without[1],
                    coldNs[direction.ordinal()],
                    firstNs,
                    inFlight,
                    several[0],
                    several[1]);
        } finally {
            release(large);
        }
    }

    /** Returns the median of bare copies, and that of the broker, measured by turns. */
    private long[] medians(int count, Step bare, Step broker) throws IOException {
        long[] bareNs = new long[rounds];
        long[] brokerNs = new long[rounds];
        for (int i = -WARM_UP; i < rounds; i++) {
            long ofBare = time(bare, count);
            long ofBroker = time(broker, count);
            if (i >= 0) {
                bareNs[i] = ofBare;
                brokerNs[i] = ofBroker;
            }
        }
        Arrays.sort(bareNs);
        Arrays.sort(brokerNs);
        return new long[] {bareNs[rounds / 2], brokerNs[rounds / 2]};
    }

    private static long time(Step step, int count) throws IOException {
        long startNs = System.nanoTime();
        step.run(count);
        return System.nanoTime() - startNs;
    }
}
