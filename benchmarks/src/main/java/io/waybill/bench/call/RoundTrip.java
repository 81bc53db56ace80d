package io.waybill.bench.call;

import io.waybill.bench.measure.Figures;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * {@code bench rtt}: what a blocking call takes beyond the work of its handler, beside a ping-pong through raw
 * Chronicle queues and an exchange over a Unix-domain socket whose other side does the same work. They take turns, each
 * time with fresh processes; each figure is the median over the rounds.
 *
 * @param rounds odd
 * @param waiting how Waybill's workers wait
 */
public record RoundTrip(CallLoad load, int rounds, String waiting) {

    private static final List<String> TIMES = List.of("mean_ns", "p50_ns", "p99_ns", "p999_ns");

    /** Names of the reported figures of each system. */
    private static final List<String> NAMES = List.of(
            "mean_ns",
            "p50_ns",
            "p99_ns",
            "p999_ns",
            "max_ns",
            "calls_per_s",
            "cpu_ns_per_call",
            "served_cpu_ns_per_call",
            "wakeups_per_call",
            "served_wakeups_per_call",
            "preemptions_per_call",
            "served_preemptions_per_call",
            "allocated_bytes_per_call",
            "line_ns");

    public Figures run(Consumer<String> progress) throws IOException {
        Map<MeasuredSystem, List<Figures>> all = MeasuredSystem.byTurns(
                List.of(MeasuredSystem.WAYBILL, MeasuredSystem.RAW, MeasuredSystem.SOCKET),
                rounds,
                progress,
                system -> system.round(load, waiting + EchoServer.BY_DEFAULT));
        Figures figures = new Figures();
        load.put(figures);
        figures.put("rounds", rounds).putChoice("waiting", waiting);
        all.forEach((system, each) -> Figures.putMedians(figures, system.prefix(), each, NAMES));
        for (MeasuredSystem beside : List.of(MeasuredSystem.RAW, MeasuredSystem.SOCKET)) {
            for (String time : TIMES) {
                ratio(figures, beside, time, time.replace("_ns", ""));
            }
            ratio(figures, beside, "cpu_ns_per_call", "cpu");
        }
        return figures;
    }

    /**
     * Puts the ratio of Waybill's figure to that of another system: {@code ratio_p50} of the raw limit,
     * {@code ratio_socket_p50} of a socket.
     */
    static void ratio(Figures figures, MeasuredSystem beside, String figure, String name) {
        String prefix = beside == MeasuredSystem.RAW ? "" : beside.prefix();
        figures.put("ratio_" + prefix + name, figures.number(figure) / figures.number(beside.prefix() + figure));
    }

    /** One round of Waybill alone. */
    public static Figures round(CallLoad load, String how) throws IOException {
        return MeasuredSystem.WAYBILL.round(load, how);
    }
}
