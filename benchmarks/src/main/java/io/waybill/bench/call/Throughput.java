package io.waybill.bench.call;

import io.waybill.bench.measure.Figures;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * {@code bench throughput}: calls per second with a number in flight, beside as many in flight through raw Chronicle
 * queues and over a Unix-domain socket whose other side does the same work. They take turns, each time with fresh
 * processes; each figure is the median over the rounds.
 *
 * @param load in flight is the flow limit, at which the sender waits
 * @param rounds odd
 * @param waiting how Waybill's workers wait
 */
public record Throughput(CallLoad load, int rounds, String waiting) {

    /** Names of the reported figures of each system. */
    private static final List<String> NAMES = List.of(
            "calls_per_s",
            "mean_ns",
            "p50_ns",
            "p99_ns",
            "p999_ns",
            "cpu_ns_per_call",
            "served_cpu_ns_per_call",
            "wakeups_per_call",
            "served_wakeups_per_call",
            "preemptions_per_call",
            "served_preemptions_per_call",
            "allocated_bytes_per_call");

    public Figures run(Consumer<String> progress) throws IOException {
        Map<MeasuredSystem, List<Figures>> all = MeasuredSystem.byTurns(
                List.of(MeasuredSystem.WAYBILL, MeasuredSystem.RAW, MeasuredSystem.SOCKET),
                rounds,
                progress,
                system -> system.round(load, waiting + EchoServer.BY_DEFAULT));
        Figures figures = new Figures();
        load.put(figures);
        figures.put("in_flight", load.inFlight()).put("rounds", rounds).putChoice("waiting", waiting);
        all.forEach((system, each) -> Figures.putMedians(figures, system.prefix(), each, NAMES));
        return figures.put("ratio", figures.number("calls_per_s") / figures.number("raw_calls_per_s"))
                .put("ratio_socket", figures.number("calls_per_s") / figures.number("socket_calls_per_s"));
    }
}
