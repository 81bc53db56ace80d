package io.waybill.cuda.check;

import io.waybill.api.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Times copies to and from the first device through the broker, by turns with bare ones of the same size. For one thread. */
final class GpuBenchmark {

    /** Which way bytes go. */
    enum Direction {
        TO_DEVICE,
        TO_HOST
    }

    /**
     * Medians of one size and direction.
     *
     * @param bareNs of a pinned asynchronous copy, and the wait for it
     * @param brokerNs of a call whose tensor is copied once
     */
    record Result(Direction direction, long bytes, int rounds, long bareNs, long brokerNs) {

        /** How much of the bare throughput the broker reaches. */
        double ratio() {
            return (double) bareNs / brokerNs;
        }
    }

    private interface Step {
        void run() throws IOException;
    }

    private static final int WARM_UP = 5; // segments are pinned behind the first calls

    private GpuBenchmark() {}

    static List<Result> run(Path home, int[] megabytes, int rounds) throws IOException {
        List<Result> results = new ArrayList<>();
        try (GpuWorkers workers = new GpuWorkers(home)) {
            for (int each : megabytes) {
                int bytes = Math.multiplyExact(each, 1 << 20);
                Tensor tensor = workers.tensor(bytes, 1);
                try (BareCopies bare = new BareCopies(bytes)) {
                    workers.call("gpu.keep", tensor).join().close();
                    results.add(measure(
                            Direction.TO_DEVICE,
                            bytes,
                            rounds,
                            bare::toDevice,
                            () -> workers.call("gpu.take", tensor).join().close()));
                    results.add(measure(
                            Direction.TO_HOST,
                            bytes,
                            rounds,
                            bare::toHost,
                            () -> workers.call("gpu.give").join().close()));
                } finally {
                    tensor.storage().release();
                }
            }
        }
        return results;
    }

    private static Result measure(Direction direction, long bytes, int rounds, Step bare, Step broker)
            throws IOException {
        long[] bareNs = new long[rounds];
        long[] brokerNs = new long[rounds];
        for (int i = -WARM_UP; i < rounds; i++) {
            long ofBare = time(bare);
            long ofBroker = time(broker);
            if (i >= 0) {
                bareNs[i] = ofBare;
                brokerNs[i] = ofBroker;
            }
        }
        return new Result(direction, bytes, rounds, median(bareNs), median(brokerNs));
    }

    private static long time(Step step) throws IOException {
        long startNs = System.nanoTime();
        step.run();
        return System.nanoTime() - startNs;
    }

    private static long median(long[] times) {
        Arrays.sort(times);
        return times[times.length / 2];
    }
}
