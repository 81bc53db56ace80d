package io.waybill.cuda.check;

import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;

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
     * @param converterNs median of the converter's copy, and the wait for it, without a call
     * @param coldNs of such a call before all others
     * @param firstNs of the first call of this size, which gets memory that is neither pinned nor allocated yet
     * @param inFlight what runs at a time for the last two
     * @param bareInFlightNs of a copy, when so many run at a time, one begun when one has ended
     * @param brokerInFlightNs the same of a call
     */
    record Result(
            Waiting waiting,
            Direction direction,
            long bytes,
            int rounds,
            long bareNs,
            long brokerNs,
            long callNs,
            long converterNs,
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

    /** Copies so many times, with up to so many at a time, and waits for all. */
    private interface Step {
        void run(int count, int inFlight) throws IOException;
    }

    private static final int SMALL = 64;
    private static final int WARM_UP = 5; // segments are pinned behind the first calls
    private static final int CALLS_PER_ROUND = 40; // with which the path of a call is compiled
    private static final int MAX_IN_FLIGHT = 4;
    private static final int TURNS = 8; // of those in flight, one after the other
    private static final int SHARE_OF_ROUNDS = 5; // since each of these has many copies
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
            coldNs[direction.ordinal()] = time(step, 1, 1);
            for (int i = 0; i < rounds * CALLS_PER_ROUND; i++) {
                step.run(1, 1);
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
                ? (count, inFlight) ->
                        calls(count, inFlight, i -> workers.call("gpu.take", tensors[i % tensors.length]))
                : (count, inFlight) -> calls(count, inFlight, i -> workers.call("gpu.give"));
    }

    private static void calls(int count, int inFlight, IntFunction<CompletableFuture<Response>> call) {
        Deque<CompletableFuture<Response>> calls = new ArrayDeque<>(inFlight);
        for (int i = 0; i < count; i++) {
            if (calls.size() == inFlight) {
                calls.remove().join().close();
            }
            calls.add(call.apply(i));
        }
        calls.forEach(each -> each.join().close());
    }

    private Result measure(Direction direction, int bytes) throws IOException {
        int inFlight = (int) Math.max(1, Math.min(MAX_IN_FLIGHT, MAX_BYTES_IN_FLIGHT / bytes));
        Tensor[] large = tensors(direction, bytes, inFlight);
        try (BareCopies copies = new BareCopies(bytes, inFlight)) {
            Step bare = direction == Direction.TO_DEVICE ? copies::toDevice : copies::toHost;
            Step broker = step(direction, large);
            long firstNs = time(broker, 1, 1);
            long[] one = medians(rounds, 1, 1, bare, broker);
            int turns = TURNS * inFlight;
            long[] several = medians(Math.max(1, rounds / SHARE_OF_ROUNDS), turns, inFlight, bare, broker);
            Step converter = direction == Direction.TO_DEVICE
                    ? (count, atATime) -> workers.copyToDevice(bytes)
                    : (count, atATime) -> workers.copyToHost();
            long[] alone = medians(rounds, 1, 1, bare, converter);
            Tensor[] small = tensors(direction, SMALL, 1);
            long[] without = medians(rounds, 1, 1, bare, step(direction, small));
            release(small);
            return new Result(
                    waiting,
                    direction,
                    bytes,
                    rounds,
                    one[0],
                    one[1],
                    without[1],
                    alone[1],
                    coldNs[direction.ordinal()],
                    firstNs,
                    inFlight,
                    several[0] / turns,
                    several[1] / turns);
        } finally {
            release(large);
        }
    }

    /** Returns the median of bare copies, and that of the broker, measured by turns. */
    private static long[] medians(int rounds, int count, int inFlight, Step bare, Step broker) throws IOException {
        long[] bareNs = new long[rounds];
        long[] brokerNs = new long[rounds];
        for (int i = -WARM_UP; i < rounds; i++) {
            long ofBare = time(bare, count, inFlight);
            long ofBroker = time(broker, count, inFlight);
            if (i >= 0) {
                bareNs[i] = ofBare;
                brokerNs[i] = ofBroker;
            }
        }
        Arrays.sort(bareNs);
        Arrays.sort(brokerNs);
        return new long[] {bareNs[rounds / 2], brokerNs[rounds / 2]};
    }

    private static long time(Step step, int count, int inFlight) throws IOException {
        long startNs = System.nanoTime();
        step.run(count, inFlight);
        return System.nanoTime() - startNs;
    }
}
