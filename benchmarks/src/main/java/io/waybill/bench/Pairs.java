package io.waybill.bench;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.bench.Pairs.Member.Phases;
import io.waybill.bench.Pairs.Member.Times;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.CacheLine;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.measure.Torch;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.host.Processes;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;

/**
 * {@code bench pairs}: many processes of one home, beside one pair alone, or beside PyTorch. Both take turns, each time
 * with fresh processes; each figure is the median over the rounds.
 *
 * @param pattern who calls whom
 * @param processes even
 * @param warmUpSeconds of calls before the measured ones
 * @param seconds of calls
 * @param sizeBytes of the payload
 * @param rounds odd
 * @param waiting how they wait
 */
public record Pairs(
        Pattern pattern, int processes, int warmUpSeconds, int seconds, int sizeBytes, int rounds, String waiting) {

    /** Pattern of the calls between processes. */
    public enum Pattern {
        /** Each calls its partner, and its partner calls it. */
        PARTNERS,
        /** One calls its partner, the others have joined and rest. */
        IDLE,
        /** Each calls each other one in turn. */
        ALL
    }

    private static final int PAIR = 2;
    private static final int FIRST_SECONDS = 10;

    /** Runs all rounds. */
    public Figures run(Consumer<String> progress) throws IOException {
        List<Figures> crowds = new ArrayList<>();
        List<Figures> besides = new ArrayList<>();
        Torch torch = pattern == Pattern.ALL ? Torch.find() : null;
        for (int round = 1; round <= rounds; round++) {
            String of = "round " + round + " of " + rounds + ": ";
            if (pattern != Pattern.ALL) {
                progress.accept(of + "one pair");
                besides.add(round(PAIR));
            } else if (torch != null) {
                progress.accept(of + processes + " processes of PyTorch");
                besides.add(torch.run("all_pairs.py", processes, FIRST_SECONDS, warmUpSeconds, seconds));
            }
            progress.accept(of + processes + " processes");
            crowds.add(round(processes));
        }
        Figures figures = new Figures()
                .put("pattern", pattern.name().toLowerCase(Locale.ROOT))
                .put("processes", processes)
                .put("seconds", seconds)
                .put("size_bytes", sizeBytes)
                .put("rounds", rounds)
                .putChoice("waiting", waiting);
        Figures.putMedians(figures, "", crowds);
        if (!besides.isEmpty()) {
            String prefix = pattern == Pattern.ALL ? "torch_" : "alone_";
            Figures.putMedians(figures, prefix, besides);
            for (String name : List.of("cold_calls_per_s", "calls_per_s", "p50_ns", "p99_ns")) {
                if (figures.values().containsKey(prefix + name)) {
                    figures.put("ratio_" + name, figures.number(name) / figures.number(prefix + name));
                }
            }
        }
        return figures;
    }

    private Figures round(int count) throws IOException {
        boolean isAll = pattern == Pattern.ALL;
        Phases phases = new Phases(isAll ? FIRST_SECONDS : 0, warmUpSeconds, seconds);
        try (Children children = new Children(Processes.crowdOptions(
                count,
                Runtime.getRuntime().availableProcessors(),
                ManagementFactory.getRuntimeMXBean().getInputArguments()))) {
            List<Children.Child> members = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                members.add(Member.start(children, i, partners(i, count), waiting, sizeBytes, phases));
            }
            List<Children.Child> callers = pattern == Pattern.IDLE ? members.subList(0, 1) : members;
            List<Children.Child> idle = pattern == Pattern.IDLE ? members.subList(PAIR, count) : List.of();
            Duration idleBefore = processorTime(idle);
            long startNs = System.nanoTime();
            Times times = Member.run(callers);
            double idleCores = (double) processorTime(idle).minus(idleBefore).toNanos() / (System.nanoTime() - startNs);
            Figures figures = new Figures();
            if (isAll) {
                figures.put("cold_calls_per_s", times.first().getTotalCount() / FIRST_SECONDS);
            }
            figures.put("calls_per_s", times.times().getTotalCount() / seconds);
            Percentiles.of(times.times())
                    .values()
                    .forEach((name, value) -> figures.put(name, ((Number) value).longValue()));
            if (!isAll) {
                figures.put("line_ns", CacheLine.roundTripNs());
            }
            if (!idle.isEmpty()) {
                Path process =
                        Path.of("/proc", Long.toString(idle.get(0).process().pid()));
                figures.put("idle_cores", idleCores)
                        .put("idle_descriptors", count(Files.list(process.resolve("fd"))))
                        .put("idle_mappings", count(Files.lines(process.resolve("maps"))));
            }
            return figures;
        }
    }

    private static long count(Stream<?> all) {
        try (all) {
            return all.count();
        }
    }

    private String partners(int index, int count) {
        return switch (pattern) {
            case PARTNERS -> Member.name(index ^ 1);
            case IDLE -> index == 0 ? Member.name(1) : Member.NO_PEER;
            case ALL ->
                String.join(
                        ",",
                        IntStream.range(1, count)
                                .mapToObj(step -> Member.name((index + step) % count))
                                .toList());
        };
    }

    private static Duration processorTime(List<Children.Child> children) throws IOException {
        Duration sum = Duration.ZERO;
        for (Children.Child child : children) {
            sum = sum.plus(child.processorTime());
        }
        return sum;
    }

    /**
     * A process of {@code bench pairs}: it responds to all that call it, and calls its partners in turn after a signal
     * of its parent.
     */
    static final class Member {

        static final String ROLE = "pair-member";

        /** Argument of a member that only responds. */
        static final String NO_PEER = "-";

        private static final String NAME = "bench-pair-";

        private Member() {}

        /**
         * Phases of a member's calls.
         *
         * @param firstSeconds right after all have joined; their times are reported apart
         * @param warmUpSeconds after these, not reported
         * @param seconds after these
         */
        record Phases(int firstSeconds, int warmUpSeconds, int seconds) {}

        /**
         * Times of all calls of some members.
         *
         * @param first of the first seconds
         */
        record Times(Histogram first, Histogram times) {

            static Times none() {
                return new Times(new Histogram(3), new Histogram(3));
            }

            void add(Times others) {
                first.add(others.first);
                times.add(others.times);
            }
        }

        static String name(int index) {
            return NAME + index;
        }

        /** Starts a member and waits until it has joined. */
        static Children.Child start(
                Children children, int index, String partners, String waiting, int sizeBytes, Phases phases)
                throws IOException {
            return children.start(
                    ROLE,
                    children.directory().resolve("home"),
                    name(index),
                    partners,
                    waiting,
                    sizeBytes,
                    phases.firstSeconds(),
                    phases.warmUpSeconds(),
                    phases.seconds());
        }

        /** Makes members call, and waits until they have finished. */
        static Times run(List<Children.Child> members) throws IOException {
            for (Children.Child member : members) {
                member.begin();
            }
            Times all = Times.none();
            for (Children.Child member : members) {
                Figures figures = member.figures();
                all.add(new Times(
                        Percentiles.decode(figures.text("first")), Percentiles.decode(figures.text("times"))));
            }
            return all;
        }

        /** Arguments: home, name, partners with commas between, waiting, size, and the seconds of the phases. */
        static void call(String[] arguments) throws Exception {
            Host host = Host.real();
            HandlerRegistry handlers = EchoServer.registry(host);
            EchoServer.handle(handlers);
            Home home = Home.open(Path.of(arguments[0]), host);
            try (Worker worker = EchoServer.join(home, arguments[1], EchoServer.settings(arguments[3]), handlers)) {
                worker.ready(Map.of());
                ChildProcess.ready();
                if (!arguments[2].equals(NO_PEER)) {
                    Request[] requests = Arrays.stream(arguments[2].split(","))
                            .map(partner -> request(partner, Integer.parseInt(arguments[4])))
                            .toArray(Request[]::new);
                    ChildProcess.awaitBegin(); // all are there
                    Histogram first = callFor(arguments[5], worker, requests);
                    callFor(arguments[6], worker, requests);
                    Histogram times = callFor(arguments[7], worker, requests);
                    ChildProcess.report(new Figures()
                            .put("first", Percentiles.encode(first))
                            .put("times", Percentiles.encode(times)));
                }
                ChildProcess.awaitEnd(); // partners may still call
            }
        }

        private static Request request(String partner, int sizeBytes) {
            return Request.raw(partner, MessageType.userRequest(0x42), ByteBuffer.allocate(sizeBytes), List.of());
        }

        private static Histogram callFor(String seconds, Worker worker, Request[] requests) {
            long ns = TimeUnit.SECONDS.toNanos(Integer.parseInt(seconds));
            Histogram times = new Histogram(3);
            long startNs = System.nanoTime();
            int next = 0;
            for (long atNs = startNs; atNs - startNs < ns; ) {
                worker.call(requests[next]).close();
                next = next + 1 == requests.length ? 0 : next + 1;
                long nowNs = System.nanoTime();
                times.recordValue(nowNs - atNs);
                atNs = nowNs;
            }
            return times;
        }
    }
}
