package io.waybill.bench;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.VersionedJar;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * {@code bench swap}: upgrades of a handler bundle in a node while another process calls it at a steady rate. Every
 * call's outcome is counted by the caller; the node counts the runs of the handler, so that a call that ran twice is
 * detected.
 *
 * @param updates how many
 * @param callsPerSecond the rate at which calls are begun
 * @param distribution with a bundle for {@code text.count} among its examples
 */
public record SwapUnderLoad(int updates, int callsPerSecond, BenchDistribution distribution) {

    static final String ROLE = "swap-caller";

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            Path handlerJar = distribution.wordCount();
            Children.Child node = distribution.startNode(children, home, BenchDistribution.FRAMEWORK_LEVELS);
            BenchNode.order(node, "install " + VersionedJar.write(handlerJar, "1.0.0", children.directory()));
            Children.Child caller = children.start(ROLE, home, callsPerSecond);
            long startNs = System.nanoTime();
            for (int i = 1; i <= updates; i++) {
                if (i % 20 == 0) {
                    progress.accept("update " + i + " of " + updates);
                }
                Path jar = VersionedJar.write(handlerJar, "1.0." + i, children.directory());
                BenchNode.order(node, "update " + jar);
                Files.delete(jar);
            }
            double seconds = (System.nanoTime() - startNs) / 1e9;
            caller.process().getOutputStream().close(); // ends the load
            Figures called = caller.figures();
            Figures served = BenchNode.order(node, "figures");
            return new Figures()
                    .put("updates", updates)
                    .put("seconds", seconds)
                    .put("calls", called.integer("calls"))
                    .put("calls_per_s", called.integer("calls_per_s"))
                    .put("failed", called.integer("failed"))
                    .put("lost", called.integer("lost"))
                    .put(
                            "duplicated",
                            Math.max(0, served.integer("begun") - called.integer("calls")) + called.integer("late"))
                    .put("max_gap_ms", called.number("max_gap_ms"))
                    .put("leaked_loaders", served.integer("leaked_loaders"));
        }
    }

    /** Counter of outcomes and of the max time without one. Completed by one thread at a time. */
    private static final class Outcomes implements ResponseListener {
        private final AtomicLong right = new AtomicLong();
        private final AtomicLong failed = new AtomicLong();
        private volatile long maxGapNs;
        private volatile String firstFailure = "";
        private long lastNs = System.nanoTime();

        @Override
        public void onResponse(Response response) {
            if (response.int64("words") == 4) {
                right.incrementAndGet();
            } else {
                failed.incrementAndGet();
            }
            gap();
        }

        @Override
        public void onFailure(CallException failure) {
            if (failed.getAndIncrement() == 0) {
                firstFailure = failure.getMessage();
            }
            gap();
        }

        private void gap() {
            long nowNs = System.nanoTime();
            maxGapNs = Math.max(maxGapNs, nowNs - lastNs);
            lastNs = nowNs;
        }

        long completed() {
            return right.get() + failed.get();
        }
    }

    /** Arguments: home, calls per second. Calls until its standard input ends. */
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
            ChildProcess.report(new Figures()
                    .put("calls", calls + 1)
                    .put("calls_per_s", Math.round(calls / seconds))
                    .put("failed", outcomes.failed.get())
                    .put("lost", calls - outcomes.completed())
                    .put("late", worker.counters().lateResponses())
                    .put("max_gap_ms", outcomes.maxGapNs / 1e6));
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
