package io.waybill.bench;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.ProcessUse;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * {@code bench home}: use of disk and memory by a node, a worker and callers that left, and the cost of the latter for
 * later callers: the times of a join and of a round trip, alternating with a home without such callers in the same
 * process; also the commands that read the home, and the command that removes departed workers.
 *
 * @param departed callers that join under names of their own, call once and leave
 */
public record HomeSize(int departed, BenchDistribution distribution) {

    static final String ROLE = "home-callers";

    private static final long STABLE_NS = 5_000_000_000L;
    private static final int TURNS = 5;
    private static final int PROBES = 5; // in each turn
    private static final int CALLS = 10_000;
    private static final String CALLER = "caller-";
    private static final String PROBE = "probe-";

    /** Runs all measurements. */
    public Figures run(Consumer<String> progress) throws IOException {
        Figures figures = new Figures().put("departed", departed);
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            progress.accept("a node and a worker rest");
            Children.Child node = distribution.startNode(children, home, BenchDistribution.ALL_LEVELS);
            long nodeBytes = allocated(home);
            Children.Child server = children.start(EchoServer.ROLE, home, "BALANCED", EchoHandler.EMPTY.argument());
            Idle.rest(STABLE_NS);
            figures.put("node_disk_bytes", nodeBytes).put("worker_disk_bytes", allocated(home) - nodeBytes);
            putProcess(figures, "node_", node);
            putProcess(figures, "worker_", server);
            progress.accept("a node and a worker of another home start");
            Path without = children.directory().resolve("without");
            distribution.startNode(children, without, BenchDistribution.ALL_LEVELS);
            children.start(EchoServer.ROLE, without, "BALANCED", EchoHandler.EMPTY.argument());
            progress.accept(departed + " callers");
            Children.Child callers = children.start(ROLE, home, without, departed);
            Figures times = callers.figures();
            Idle.rest(STABLE_NS / 5);
            List<Path> left = departed(home);
            figures.put("departed_disk_bytes", perCaller(left, HomeSize::allocated))
                    .put("departed_apparent_bytes", perCaller(left, HomeSize::apparent));
            times.values().forEach((name, value) -> figures.put(name, ((Number) value).doubleValue()));
            figures.put("ratio_join", times.number("join_ms_after") / times.number("join_ms"))
                    .put("ratio_join_cpu", times.number("join_cpu_ms_after") / times.number("join_cpu_ms"))
                    .put("ratio_p50", times.number("p50_ns_after") / times.number("p50_ns"));
            putProcess(figures, "node_after_", node);
            progress.accept("commands that look");
            figures.put("workers_ms", command(home, "workers"));
            figures.put("journal_list_ms", command(home, "journal", "list"));
            String first = left.get(0).getFileName().toString();
            long id = MessageId.of(Integer.parseInt(first.substring(0, first.indexOf('-'))), 0);
            figures.put("journal_show_ms", command(home, "journal", "show", MessageId.text(id)));
            figures.put("journal_stats_ms", command(home, "journal", "stats"));
            progress.accept("they are removed");
            long before = allocated(home);
            figures.put("workers_remove_ms", command(home, "workers", "remove", "--all-departed", "--yes"))
                    .put("removed_bytes", before - allocated(home))
                    .put("departed_left", departed(home).size());
        }
        return figures;
    }

    private long command(Path home, String... words) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(distribution.directory().resolve("bin").resolve("waybill").toString());
        command.addAll(List.of(words));
        command.addAll(List.of("--home", home.toString()));
        long startNs = System.nanoTime();
        Process process = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            if (process.waitFor() != 0) {
                throw new IOException(String.join(" ", command) + " failed");
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
        return (System.nanoTime() - startNs) / 1_000_000;
    }

    private static void putProcess(Figures figures, String prefix, Children.Child child) throws IOException {
        Path process = Path.of("/proc", Long.toString(child.pid()));
        try (Stream<String> rollup = Files.lines(process.resolve("smaps_rollup"))) {
            rollup.filter(line -> line.startsWith("Rss:") || line.startsWith("Pss:"))
                    .forEach(line -> figures.put(
                            prefix + line.substring(0, 3).toLowerCase(Locale.ROOT) + "_bytes",
                            Long.parseLong(line.replaceAll("\\D", "")) << 10));
        }
        try (Stream<Path> descriptors = Files.list(process.resolve("fd"));
                Stream<String> mappings = Files.lines(process.resolve("maps"))) {
            figures.put(prefix + "descriptors", descriptors.count()).put(prefix + "mappings", mappings.count());
        }
    }

    /** A sum over the files of a directory. */
    @FunctionalInterface
    private interface Sum {
        long of(Path directory) throws IOException;
    }

    /** Returns the directories of callers that left. */
    private static List<Path> departed(Path home) throws IOException {
        try (Stream<Path> all = Files.list(home.resolve("workers"))) {
            return all.filter(worker -> worker.getFileName().toString().contains("-" + CALLER)
                            || worker.getFileName().toString().contains("-" + PROBE))
                    .toList();
        }
    }

    private static long perCaller(List<Path> callers, Sum sum) throws IOException {
        long bytes = 0;
        for (Path caller : callers) {
            bytes += sum.of(caller);
        }
        return bytes / callers.size();
    }

    private static long allocated(Path home) throws IOException {
        return sum(home, file -> {
            try {
                return Host.real().files().allocatedBytes(file);
            } catch (IOException e) {
                return 0; // removed meanwhile
            }
        });
    }

    private static long apparent(Path home) throws IOException {
        return sum(home, file -> file.toFile().length());
    }

    private static long sum(Path home, ToLongFunction<Path> bytes) throws IOException {
        try (Stream<Path> all = Files.walk(home)) {
            return all.filter(Files::isRegularFile).mapToLong(bytes).sum();
        }
    }

    /**
     * Arguments: home, a home without callers that left, callers. Joins and round trips in both homes are measured
     * after those callers, when this process has the same code compiled for both, and by turns.
     */
    static void callers(String[] arguments) throws Exception {
        Probed with = new Probed(Home.open(Path.of(arguments[0]), Host.real()));
        Probed without = new Probed(Home.open(Path.of(arguments[1]), Host.real()));
        int count = Integer.parseInt(arguments[2]);
        ChildProcess.ready();
        for (int i = 0; i < PROBES * TURNS; i++) {
            joinMs(with.home, "warm-up");
            joinMs(without.home, "warm-up");
        }
        for (int i = 0; i < count; i++) {
            joinMs(with.home, CALLER + i);
        }
        for (int turn = 0; turn < TURNS; turn++) {
            boolean first = turn % 2 == 0; // the order alternates
            for (Probed each : first ? List.of(with, without) : List.of(without, with)) {
                each.probe(turn);
            }
        }
        Figures figures = new Figures();
        without.put(figures, "");
        with.put(figures, "_after");
        ChildProcess.report(figures);
        ChildProcess.awaitEnd();
    }

    /** Times of joins and round trips in a home. */
    private static final class Probed {
        private final Home home;
        private final double[] joinsMs = new double[TURNS * PROBES];
        private final long[] roundTripsNs = new long[TURNS];
        private long cpuNs;

        Probed(Home home) {
            this.home = home;
        }

        void probe(int turn) throws IOException {
            long cpuBeforeNs = ProcessUse.ofThis().cpuNs();
            for (int i = turn * PROBES; i < (turn + 1) * PROBES; i++) {
                joinsMs[i] = joinMs(home, PROBE + i);
            }
            cpuNs += ProcessUse.ofThis().cpuNs() - cpuBeforeNs;
            roundTripsNs[turn] = roundTripNs(home);
        }

        /**
         * Puts the times of joins until the response, and the processor time with the leave; then that of a round trip.
         */
        void put(Figures figures, String suffix) {
            figures.put("join_ms" + suffix, Figures.median(joinsMs))
                    .put("join_cpu_ms" + suffix, cpuNs / 1e6 / joinsMs.length)
                    .put("p50_ns" + suffix, Figures.median(roundTripsNs));
        }
    }

    /** Joins, calls once and leaves; returns the time until the response. */
    private static double joinMs(Home home, String name) {
        Host host = home.host();
        long startNs = System.nanoTime();
        try (Worker worker = EchoServer.join(home, name, WorkerSettings.defaults(), EchoServer.registry(host))) {
            worker.ready(Map.of());
            worker.call(request()).close();
            return (System.nanoTime() - startNs) / 1e6;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the median of a worker's calls, after twice as many to warm up. */
    private static long roundTripNs(Home home) throws IOException {
        Request request = request();
        long[] times = new long[CALLS];
        try (Worker worker =
                EchoServer.join(home, "round-trip", WorkerSettings.defaults(), EchoServer.registry(home.host()))) {
            worker.ready(Map.of());
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < CALLS; i++) {
                    long startNs = System.nanoTime();
                    worker.call(request).close();
                    times[i] = System.nanoTime() - startNs;
                }
            }
        }
        return Figures.median(times);
    }

    private static Request request() {
        return Request.raw(EchoServer.NAME, MessageType.userRequest(0x42), ByteBuffer.allocate(64), List.of());
    }
}
