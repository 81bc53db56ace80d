package io.waybill.bench.call;

import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench callers}: many programs that call one, each one call at a time, beside as many clients of a server that
 * waits for all of them with epoll and does the same work. They take turns, each time with fresh processes; each figure
 * is the median over the rounds. A row for each number of callers.
 *
 * @param numbers of callers
 * @param rounds odd
 * @param waiting how Waybill's workers wait
 */
public record Callers(CallLoad load, List<Integer> numbers, int rounds, String waiting) {

    private static final List<MeasuredSystem> SYSTEMS = List.of(MeasuredSystem.WAYBILL, MeasuredSystem.EPOLL);

    /** Figures per call of each client, which are means over all calls. */
    private static final List<String> PER_CALL = List.of("cpu_ns_per_call", "wakeups_per_call", "preemptions_per_call");

    public Figures run(Consumer<String> progress) throws IOException {
        List<Figures> rows = new ArrayList<>();
        for (int number : numbers) {
            rows.add(row(number, progress));
        }
        Figures figures = new Figures();
        load.put(figures);
        return figures.put("rounds", rounds).putChoice("waiting", waiting).put("numbers", rows);
    }

    private Figures row(int number, Consumer<String> progress) throws IOException {
        Map<MeasuredSystem, List<Figures>> all = MeasuredSystem.byTurns(SYSTEMS, rounds, progress, system -> {
            progress.accept(number + " callers");
            return together(system.round(load, waiting + EchoServer.BY_DEFAULT, number));
        });
        Figures row = new Figures().put("callers", number);
        all.forEach((system, each) -> Figures.putMedians(row, system.prefix(), each));
        for (String name : List.of("calls_per_s", "mean_ns", "p50_ns", "p99_ns", "cpu_ns_per_call")) {
            RoundTrip.ratio(row, MeasuredSystem.EPOLL, name, name);
        }
        return row;
    }

    /** Combines the figures of clients that called concurrently. The first one has measured the server, too. */
    static Figures together(List<Figures> clients) throws IOException {
        Histogram times = new Histogram(TimeUnit.MINUTES.toNanos(1), 3);
        long perSecond = 0;
        long least = Long.MAX_VALUE;
        for (Figures client : clients) {
            times.add(Percentiles.decode(client.text("times")));
            perSecond += client.integer("calls_per_s");
            least = Math.min(least, client.integer("calls_per_s"));
        }
        Figures figures = new Figures()
                .put("calls_per_s", perSecond)
                .put("least_calls_per_s", least)
                .put("least_share", (double) least * clients.size() / perSecond);
        Percentiles.of(times).values().forEach((name, value) -> figures.put(name, ((Number) value).longValue()));
        for (String name : PER_CALL) {
            double sum = 0;
            for (Figures client : clients) {
                sum += client.number(name) * client.integer("calls_per_s");
            }
            Figures first = clients.get(0);
            double served = first.number("served_" + name) * first.integer("calls_per_s") / perSecond;
            put(figures, name, sum / perSecond);
            put(figures, "served_" + name, served);
        }
        return figures;
    }

    private static void put(Figures figures, String name, double value) {
        if (name.contains("_ns_")) {
            figures.put(name, Math.round(value));
        } else {
            figures.put(name, value);
        }
    }
}
