package io.waybill.bench;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * {@code bench pairs}: many processes of one home, of which each calls its partner and responds to it, beside one such pair alone. Both take
 * turns, each time with fresh processes; each figure is the median over the rounds.
 *
 * @param processes even
 * @param seconds of calls, after one to warm up
 * @param sizeBytes of the payload
 * @param rounds odd
 * @param waiting how they wait
 */
public record Pairs(int processes, int seconds, int sizeBytes, int rounds, String waiting) {

    static final String ROLE = "pair";

    private static final int PAIR = 2;
    private static final String NAME = "bench-pair-";
    private static final long WARM_UP_NS = TimeUnit.SECONDS.toNanos(1);

    public Figures run(Consumer<String> progress) throws IOException {
        List<Figures> alone = new ArrayList<>();
        List<Figures> all = new ArrayList<>();
        for (int round = 1; round <= rounds; round++) {
            progress.accept("round " + round + " of " + rounds + ": one pair");
            alone.add(round(PAIR));
            progress.accept("round " + round + " of " + rounds + ": " + processes + " processes");
            all.add(round(processes));
        }
        long rate = Figures.median(all, "calls_per_s");
        long aloneRate = Figures.median(alone, "calls_per_s");
        return new Figures()
                .put("processes", processes)
                .put("seconds", seconds)
                .put("size_bytes", sizeBytes)
                .put("rounds", rounds)
                .put("waiting", waiting.toLowerCase(Locale.ROOT).replace('_', '-'))
                .put("calls_per_s", rate)
                .put("p50_ns", Figures.median(all, "p50_ns"))
                .put("p99_ns", Figures.median(all, "p99_ns"))
                .put("alone_calls_per_s", aloneRate)
                .put("alone_p50_ns", Figures.median(alone, "p50_ns"))
                .put("alone_p99_ns", Figures.median(alone, "p99_ns"))
                .put("ratio_calls_per_s", (double) rate / aloneRate);
    }

    /** All pairs of a home, at once. */
    private Figures round(int count) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            List<Children.Child> all = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                all.add(children.start(ROLE, home, NAME + i, NAME + (i ^ 1), waiting, sizeBytes, seconds));
            }
            for (Children.Child child : all) {
                child.process().getOutputStream().write('\n');
                child.process().getOutputStream().flush();
            }
            long calls = 0;
            Histogram times = new Histogram(3);
            for (Children.Child child : all) {
                Histogram ofChild = decode(child.figures().text("times"));
                times.add(ofChild);
                calls += ofChild.getTotalCount();
            }
            return Percentiles.of(times).put("calls_per_s", calls / seconds);
        }
    }

    /** Arguments: home, name, partner, waiting, size, seconds. */
    static void call(String[] arguments) throws Exception {
        Host host = Host.real();
        HandlerRegistry handlers = EchoServer.registry(host);
        EchoServer.handle(handlers, (message, outbox) -> outbox.respond(message.payload()));
        Request request = Request.raw(
                arguments[2],
                MessageType.userRequest(0x42),
                ByteBuffer.allocate(Integer.parseInt(arguments[4])),
                List.of());
        Home home = Home.open(Path.of(arguments[0]), host);
        try (Worker worker = EchoServer.join(home, arguments[1], EchoServer.settings(arguments[3]), handlers)) {
            worker.ready(Map.of());
            BenchProcess.ready();
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine(); // all are there
            callFor(WARM_UP_NS, worker, request);
            Histogram times = callFor(TimeUnit.SECONDS.toNanos(Integer.parseInt(arguments[5])), worker, request);
            BenchProcess.report(new Figures().put("times", encode(times)));
            BenchProcess.awaitEnd(); // the partner may still call
        }
    }

    private static Histogram callFor(long ns, Worker worker, Request request) {
        Histogram times = new Histogram(3);
        long startNs = System.nanoTime();
        for (long atNs = startNs; atNs - startNs < ns; ) {
            worker.call(request).close();
            long nowNs = System.nanoTime();
            times.recordValue(nowNs - atNs);
            atNs = nowNs;
        }
        return times;
    }

    private static String encode(Histogram times) {
        ByteBuffer bytes = ByteBuffer.allocate(times.getNeededByteBufferCapacity());
        int length = times.encodeIntoCompressedByteBuffer(bytes);
        return Base64.getEncoder().withoutPadding().encodeToString(Arrays.copyOf(bytes.array(), length));
    }

    private static Histogram decode(String text) throws IOException {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(text)), 0);
        } catch (DataFormatException e) {
            throw new IOException("the process " + ROLE + " told no times", e);
        }
    }
}
