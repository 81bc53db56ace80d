package io.waybill.bench;

import io.waybill.bench.PairMember.Phases;
import io.waybill.bench.PairMember.Times;
import io.waybill.bench.measure.CacheLine;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.measure.Torch;
import io.waybill.host.Processes;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * {@code bench pairs}: many processes of one home, beside one pair alone, or beside PyTorch. Both take turns, each time with fresh
 * processes; each figure is the median over the rounds.
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

    /** Who calls whom. */
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
                .put("waiting", waiting.toLowerCase(Locale.ROOT).replace('_', '-'));
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
                members.add(PairMember.start(children, i, partners(i, count), waiting, sizeBytes, phases));
            }
            List<Children.Child> callers = pattern == Pattern.IDLE ? members.subList(0, 1) : members;
            List<Children.Child> idle = pattern == Pattern.IDLE ? members.subList(PAIR, count) : List.of();
            Duration idleBefore = processorTime(idle);
            long startNs = System.nanoTime();
            Times times = PairMember.run(callers);
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
            case PARTNERS -> PairMember.name(index ^ 1);
            case IDLE -> index == 0 ? PairMember.name(1) : PairMember.NO_PEER;
            case ALL ->
                String.join(
                        ",",
                        IntStream.range(1, count)
                                .mapToObj(step -> PairMember.name((index + step) % count))
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
}
