package io.waybill.bench;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.bench.measure.Allocation;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.measure.ProcessorTime;
import io.waybill.worker.Worker;
import io.waybill.worker.peer.FlowLimits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench throughput}: calls per second with so many in flight, beside raw echoes with as many in flight. Raw and Waybill take turns;
 * each figure is the median over the rounds.
 *
 * @param sizeBytes of the payload
 * @param calls per round, after as many to warm up
 * @param inFlight the flow limit, at which the sender waits
 * @param rounds odd
 * @param waiting how Waybill's workers wait
 * @param handler what is called
 */
public record Throughput(int sizeBytes, int calls, int inFlight, int rounds, String waiting, EchoHandler handler) {

    static final String ROLE = "throughput-client";

    public Figures run(Consumer<String> progress) throws IOException {
        long[] raw = new long[rounds];
        List<Figures> ours = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            progress.accept("round " + (round + 1) + " of " + rounds + ": raw");
            raw[round] = rawRound();
            progress.accept("round " + (round + 1) + " of " + rounds + ": waybill");
            ours.add(round());
        }
        long callsPerSecond = Figures.median(ours, "calls_per_s");
        long rawCallsPerSecond = Figures.median(raw);
        return new Figures()
                .put("size_bytes", sizeBytes)
                .put("calls", calls)
                .put("in_flight", inFlight)
                .put("rounds", rounds)
                .put("waiting", waiting.toLowerCase(Locale.ROOT).replace('_', '-'))
                .put("handler", handler.kind().name().toLowerCase(Locale.ROOT))
                .put("calls_per_s", callsPerSecond)
                .put("raw_calls_per_s", rawCallsPerSecond)
                .put("ratio", (double) callsPerSecond / rawCallsPerSecond)
                .put("mean_ns", Figures.median(ours, "mean_ns"))
                .put("p50_ns", Figures.median(ours, "p50_ns"))
                .put("p99_ns", Figures.median(ours, "p99_ns"))
                .put("p999_ns", Figures.median(ours, "p999_ns"))
                .put("cpu_ns_per_call", Figures.median(ours, "cpu_ns_per_call"))
                .put("served_cpu_ns_per_call", Figures.median(ours, "served_cpu_ns_per_call"))
                .put("allocated_bytes_per_call", Figures.median(ours, "allocated_bytes_per_call"));
    }

    private long rawRound() throws IOException {
        try (Children children = new Children()) {
            children.start(RawPeer.ECHO, children.directory(), sizeBytes);
            return children.start(RawPeer.PIPELINE, children.directory(), sizeBytes, calls, inFlight)
                    .figures()
                    .integer("calls_per_s");
        }
    }

    /** One round of Waybill alone. */
    Figures round() throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            Children.Child server = children.start(EchoServer.ROLE, home, waiting, handler.argument());
            return children.start(ROLE, home, waiting, sizeBytes, calls, inFlight, server.pid())
                    .figures();
        }
    }

    /** Counts outcomes. One thread settles at a time. */
    private static final class Outcomes implements ResponseListener {
        private final AtomicLong responded = new AtomicLong();
        private final AtomicLong failed = new AtomicLong();

        @Override
        public void onResponse(Response response) {
            responded.lazySet(responded.get() + 1);
        }

        @Override
        public void onFailure(CallException failure) {
            failed.incrementAndGet();
        }

        long count() {
            return responded.get() + failed.get();
        }
    }

    /** Times one call at a time, so that taking times does not slow the others. */
    private static final class Timed implements ResponseListener {
        private final Outcomes outcomes;
        private final Histogram times = new Histogram(TimeUnit.SECONDS.toNanos(60), 3);
        private long sinceNs;
        private volatile boolean inFlight; // set by the caller, cleared by the thread that settles

        Timed(Outcomes outcomes) {
            this.outcomes = outcomes;
        }

        void begin() {
            sinceNs = System.nanoTime();
            inFlight = true;
        }

        @Override
        public void onResponse(Response response) {
            times.recordValue(System.nanoTime() - sinceNs);
            outcomes.onResponse(response);
            inFlight = false;
        }

        @Override
        public void onFailure(CallException failure) {
            outcomes.onFailure(failure);
            inFlight = false;
        }
    }

    /** Arguments: home, waiting, size, calls, in flight, the server's process. */
    static void client(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[3]);
        FlowLimits limits = FlowLimits.defaults().withCallsPerPeer(Integer.parseInt(arguments[4]));
        try (Worker worker = EchoServer.joinCaller(
                arguments[0],
                EchoServer.settings(arguments[1]).toBuilder().limits(limits).build())) {
            BenchProcess.ready();
            Request request = Request.raw(
                    EchoServer.NAME,
                    MessageType.userRequest(0x42),
                    ByteBuffer.allocate(Integer.parseInt(arguments[2])),
                    List.of());
            Figures figures = new Figures();
            for (int round = 0; round < 2; round++) { // the first warms up
                Outcomes outcomes = new Outcomes();
                Timed timed = new Timed(outcomes);
                ProcessorTime processors = new ProcessorTime(Long.parseLong(arguments[5]));
                long allocatedBefore = Allocation.ofThisProcess();
                long startNs = System.nanoTime();
                for (int i = 0; i < count; i++) {
                    boolean isTimed = !timed.inFlight;
                    if (isTimed) {
                        timed.begin();
                    }
                    worker.call(
                            request,
                            isTimed ? timed : outcomes); // waits, and polls meanwhile, when so many are in flight
                }
                while (outcomes.count() < count) {
                    Thread.onSpinWait();
                }
                double perSecond = count * 1e9 / (System.nanoTime() - startNs);
                long allocated = Allocation.ofThisProcess() - allocatedBefore;
                figures = processors
                        .put(Percentiles.of(timed.times), count)
                        .put("calls_per_s", Math.round(perSecond))
                        .put("allocated_bytes_per_call", Math.round((double) allocated / count));
                if (outcomes.failed.get() > 0) {
                    throw new IllegalStateException(outcomes.failed.get() + " calls failed");
                }
            }
            BenchProcess.report(figures);
            BenchProcess.awaitEnd();
        }
    }
}
