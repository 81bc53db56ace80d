package io.waybill.bench;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.bench.measure.Allocation;
import io.waybill.bench.measure.CacheLine;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.measure.ProcessorTime;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench rtt}: the time of a blocking call that echoes its payload, beside the raw ping-pong of the same payload. Raw and Waybill
 * take turns, each time with fresh processes; each figure is the median over the rounds.
 *
 * @param sizeBytes of the payload
 * @param calls per round, after as many to warm up
 * @param rounds odd
 * @param waiting how Waybill's workers wait
 * @param handler what is called
 */
public record RoundTrip(int sizeBytes, int calls, int rounds, String waiting, EchoHandler handler) {

    static final String ROLE = "rtt-client";
    private static final String LINE = "line_ns";

    public Figures run(Consumer<String> progress) throws IOException {
        List<Figures> raw = new ArrayList<>();
        List<Figures> ours = new ArrayList<>();
        for (int round = 1; round <= rounds; round++) {
            progress.accept("round " + round + " of " + rounds + ": raw");
            raw.add(rawRound().put(LINE, CacheLine.roundTripNs()));
            progress.accept("round " + round + " of " + rounds + ": waybill");
            ours.add(round().put(LINE, CacheLine.roundTripNs()));
        }
        long p50 = Figures.median(ours, "p50_ns");
        long p99 = Figures.median(ours, "p99_ns");
        long rawP50 = Figures.median(raw, "p50_ns");
        long rawP99 = Figures.median(raw, "p99_ns");
        return new Figures()
                .put("size_bytes", sizeBytes)
                .put("calls", calls)
                .put("rounds", rounds)
                .put("waiting", waiting.toLowerCase(Locale.ROOT).replace('_', '-'))
                .put("handler", handler.kind().name().toLowerCase(Locale.ROOT))
                .put("mean_ns", Figures.median(ours, "mean_ns"))
                .put("p50_ns", p50)
                .put("p99_ns", p99)
                .put("p999_ns", Figures.median(ours, "p999_ns"))
                .put("raw_mean_ns", Figures.median(raw, "mean_ns"))
                .put("raw_p50_ns", rawP50)
                .put("raw_p99_ns", rawP99)
                .put("raw_p999_ns", Figures.median(raw, "p999_ns"))
                .put(LINE, Figures.median(ours, LINE))
                .put("raw_line_ns", Figures.median(raw, LINE))
                .put("ratio_p50", (double) p50 / rawP50)
                .put("ratio_p99", (double) p99 / rawP99)
                .put("cpu_ns_per_call", Figures.median(ours, "cpu_ns_per_call"))
                .put("served_cpu_ns_per_call", Figures.median(ours, "served_cpu_ns_per_call"))
                .put("allocated_bytes_per_call", Figures.median(ours, "allocated_bytes_per_call"));
    }

    private Figures rawRound() throws IOException {
        try (Children children = new Children()) {
            children.start(RawPeer.ECHO, children.directory(), sizeBytes);
            return children.start(RawPeer.PING, children.directory(), sizeBytes, calls)
                    .figures();
        }
    }

    /** One round of Waybill alone. */
    Figures round() throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            Children.Child server = children.start(EchoServer.ROLE, home, waiting, handler.argument());
            return children.start(ROLE, home, waiting, sizeBytes, calls, server.pid())
                    .figures();
        }
    }

    /** Arguments: home, waiting, size, calls, the server's process. */
    static void client(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[3]);
        try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
            BenchProcess.ready();
            Request request = Request.raw(
                    EchoServer.NAME,
                    MessageType.userRequest(0x42),
                    ByteBuffer.allocate(Integer.parseInt(arguments[2])),
                    List.of());
            Histogram times = new Histogram(TimeUnit.SECONDS.toNanos(10), 3);
            Figures figures = new Figures();
            for (int round = 0; round < 2; round++) { // the first warms up
                times.reset();
                ProcessorTime processors = new ProcessorTime(Long.parseLong(arguments[4]));
                long allocatedBefore = Allocation.ofThisProcess();
                for (int i = 0; i < count; i++) {
                    long startNs = System.nanoTime();
                    worker.call(request);
                    times.recordValue(System.nanoTime() - startNs);
                }
                long allocated = Allocation.ofThisProcess() - allocatedBefore;
                figures = processors
                        .put(Percentiles.of(times), count)
                        .put("allocated_bytes_per_call", Math.round((double) allocated / count));
            }
            BenchProcess.report(figures);
            BenchProcess.awaitEnd();
        }
    }
}
