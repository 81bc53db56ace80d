package io.waybill.bench;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Gaps;
import io.waybill.bench.measure.VersionedJar;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * {@code bench swap}: upgrades of a handler bundle in a node while another process calls it at a steady rate: first
 * side by side, then a quarter as many of an exclusive bundle, whose old version stops before the new one starts. Every
 * call's outcome is counted by the caller; the node counts the runs of the handler, so that a call that ran twice is
 * detected. A gap is the time between two outcomes. After each upgrade comes a window of the same length without one.
 *
 * @param updates how many
 * @param callsPerSecond the rate at which calls are begun
 * @param distribution with a bundle for {@code text.count} among its examples
 */
public record SwapUnderLoad(int updates, int callsPerSecond, BenchDistribution distribution) {

    static final String ROLE = "swap-caller";

    /** Times of {@link System#nanoTime}, which all processes of a host share. */
    private record Window(long fromNs, long toNs) {
        double maxGapMs(List<Gaps.Gap> gaps) {
            return gaps.stream()
                            .filter(gap -> gap.toNs() >= fromNs && gap.fromNs() <= toNs)
                            .mapToLong(Gaps.Gap::lengthNs)
                            .max()
                            .orElse(0)
                    / 1e6;
        }
    }

    /** Windows with an upgrade in one way, and as many without. */
    private record Way(String name, boolean exclusive, List<Window> swaps, List<Window> quiet) {
        static Way of(String name, boolean exclusive) {
            return new Way(name, exclusive, new ArrayList<>(), new ArrayList<>());
        }

        void put(Figures figures, List<Gaps.Gap> gaps) {
            double[] ofSwaps = sorted(swaps, gaps);
            double[] ofQuiet = sorted(quiet, gaps);
            figures.put(name + "_updates", ofSwaps.length)
                    .put(name + "_gap_ms", ofSwaps[ofSwaps.length / 2])
                    .put(name + "_gap_p90_ms", ofSwaps[ofSwaps.length * 9 / 10])
                    .put(name + "_gap_max_ms", ofSwaps[ofSwaps.length - 1])
                    .put(name + "_quiet_gap_ms", ofQuiet[ofQuiet.length / 2])
                    .put(name + "_quiet_gap_max_ms", ofQuiet[ofQuiet.length - 1])
                    .put(name + "_ratio", ofSwaps[ofSwaps.length / 2] / ofQuiet[ofQuiet.length / 2]);
        }

        private static double[] sorted(List<Window> windows, List<Gaps.Gap> gaps) {
            return windows.stream()
                    .mapToDouble(window -> window.maxGapMs(gaps))
                    .sorted()
                    .toArray();
        }
    }

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            Path gaps = children.directory().resolve("gaps");
            Path handlerJar = distribution.wordCount();
            Children.Child node = distribution.startNode(children, home, BenchDistribution.FRAMEWORK_LEVELS);
            BenchNode.order(node, "install " + VersionedJar.write(handlerJar, "1.0.0", children.directory()));
            Children.Child caller = children.start(ROLE, home, callsPerSecond, gaps);
            List<Way> ways = List.of(Way.of("beside", false), Way.of("in_turn", true));
            int version = 0;
            for (Way way : ways) {
                int ofWay = way.exclusive ? Math.max(1, updates / 4) : updates;
                for (int i = 1; i <= ofWay; i++) {
                    if (i % 20 == 0) {
                        progress.accept("update " + i + " of " + ofWay + ", " + way.name);
                    }
                    String next = "1.0." + ++version;
                    Path jar = VersionedJar.write(handlerJar, next, children.directory(), way.exclusive);
                    long beginNs = System.nanoTime();
                    BenchNode.order(node, "update " + jar);
                    long endNs = System.nanoTime();
                    way.swaps.add(new Window(beginNs, endNs));
                    Files.delete(jar);
                    pauseUntil(2 * endNs - beginNs);
                    way.quiet.add(new Window(endNs, 2 * endNs - beginNs));
                }
            }
            caller.process().getOutputStream().close(); // ends the load
            Figures called = caller.figures();
            Figures served = BenchNode.order(node, "figures");
            Figures figures = new Figures()
                    .put("calls", called.integer("calls"))
                    .put("calls_per_s", called.integer("calls_per_s"))
                    .put("failed", called.integer("failed"))
                    .put("lost", called.integer("lost"))
                    .put(
                            "duplicated",
                            Math.max(0, served.integer("begun") - called.integer("calls")) + called.integer("late"))
                    .put("leaked_loaders", served.integer("leaked_loaders"));
            List<Gaps.Gap> found = Gaps.read(gaps);
            ways.forEach(way -> way.put(figures, found));
            return figures;
        }
    }

    private static void pauseUntil(long endNs) {
        while (System.nanoTime() < endNs) {
            LockSupport.parkNanos(endNs - System.nanoTime());
        }
    }

    /** Counter of outcomes. Completed by one thread at a time. */
    private static final class Outcomes implements ResponseListener {
        private final AtomicLong right = new AtomicLong();
        private final AtomicLong failed = new AtomicLong();
        private final Gaps gaps = new Gaps();
        private volatile String firstFailure = "";

        @Override
        public void onResponse(Response response) {
            if (response.int64("words") == 4) {
                right.incrementAndGet();
            } else {
                failed.incrementAndGet();
            }
            gaps.ended();
        }

        @Override
        public void onFailure(CallException failure) {
            if (failed.getAndIncrement() == 0) {
                firstFailure = failure.getMessage();
            }
            gaps.ended();
        }

        long completed() {
            return right.get() + failed.get();
        }
    }

    /** Arguments: home, calls per second, file for the gaps. Calls until its standard input ends. */
    static void client(String[] arguments) throws Exception {
        long intervalNs = 1_000_000_000L / Integer.parseInt(arguments[1]);
        try (Worker worker = EchoServer.joinCaller(arguments[0], WorkerSettings.defaults())) {
            Request request = Request.operation(BenchNode.NAME, "text.count");
            request.body().text("text", "to be or not");
            worker.call(request); // so that the link is there
            ChildProcess.ready();
            Thread end = new Thread(SwapUnderLoad::awaitEnd, "end");
            end.start();
            Outcomes outcomes = new Outcomes();
            long calls = 0;
            long startNs = System.nanoTime();
            while (end.isAlive()) {
                long dueNs = startNs + calls * intervalNs;
                if (System.nanoTime() < dueNs) {
                    LockSupport.parkNanos(100_000);
                    continue;
                }
                worker.call(request, outcomes);
                calls++;
            }
            double seconds = (System.nanoTime() - startNs) / 1e9;
            long untilNs = System.nanoTime() + 70_000_000_000L; // beyond the timeout of every call
            while (outcomes.completed() < calls && System.nanoTime() < untilNs) {
                LockSupport.parkNanos(1_000_000);
            }
            if (!outcomes.firstFailure.isEmpty()) {
                System.err.println("the first failure: " + outcomes.firstFailure);
            }
            outcomes.gaps.write(Path.of(arguments[2]));
            ChildProcess.report(new Figures()
                    .put("calls", calls + 1)
                    .put("calls_per_s", Math.round(calls / seconds))
                    .put("failed", outcomes.failed.get())
                    .put("lost", calls - outcomes.completed())
                    .put("late", worker.counters().lateResponses()));
        }
    }

    private static void awaitEnd() {
        try {
            ChildProcess.awaitEnd();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
