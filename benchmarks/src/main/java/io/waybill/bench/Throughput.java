package io.waybill.bench;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.bench.measure.Allocation;
import io.waybill.bench.measure.Figures;
import io.waybill.worker.Worker;
import io.waybill.worker.peer.FlowLimits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * {@code bench throughput}: calls per second with so many in flight, beside raw echoes with as many in flight. Raw and Waybill take turns;
 * each figure is the median over the rounds.
 *
 * @param sizeBytes of the payload
 * @param calls per round, after as many to warm up
 * @param inFlight the flow limit, at which the sender waits
 * @param rounds odd
 * @param waiting how Waybill's workers wait
 */
public record Throughput(int sizeBytes, int calls, int inFlight, int rounds, String waiting) {

    static final String ROLE = "throughput-client";

    public Figures run(Consumer<String> progress) throws IOException {
        long[] raw = new long[rounds];
        long[] ours = new long[rounds];
        long[] allocated = new long[rounds];
        for (int round = 0; round < rounds; round++) {
            progress.accept("round " + (round + 1) + " of " + rounds + ": raw");
            raw[round] = rawRound();
            progress.accept("round " + (round + 1) + " of " + rounds + ": waybill");
            Figures figures = round();
            ours[round] = figures.integer("calls_per_s");
            allocated[round] = figures.integer("allocated_bytes_per_call");
        }
        long callsPerSecond = Figures.median(ours);
        long rawCallsPerSecond = Figures.median(raw);
        return new Figures()
                .put("size_bytes", sizeBytes)
                .put("calls", calls)
                .put("in_flight", inFlight)
                .put("rounds", rounds)
                .put("calls_per_s", callsPerSecond)
                .put("raw_calls_per_s", rawCallsPerSecond)
                .put("ratio", (double) callsPerSecond / rawCallsPerSecond)
                .put("allocated_bytes_per_call", Figures.median(allocated));
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
            children.start(EchoServer.ROLE, home, waiting);
            return children.start(ROLE, home, waiting, sizeBytes, calls, inFlight)
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
    }

    /** Arguments: home, waiting, size, calls, in flight. */
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
            double perSecond = 0;
            long allocated = 0;
            for (int round = 0; round < 2; round++) { // the first warms up
                Outcomes outcomes = new Outcomes();
                long allocatedBefore = Allocation.ofThisProcess();
                long startNs = System.nanoTime();
                for (int i = 0; i < count; i++) {
                    worker.call(request, outcomes); // waits, and polls meanwhile, when so many are in flight
                }
                while (outcomes.responded.get() + outcomes.failed.get() < count) {
                    Thread.onSpinWait();
                }
                perSecond = count * 1e9 / (System.nanoTime() - startNs);
                allocated = Allocation.ofThisProcess() - allocatedBefore;
                if (outcomes.failed.get() > 0) {
                    throw new IllegalStateException(outcomes.failed.get() + " calls failed");
                }
            }
            BenchProcess.report(new Figures()
                    .put("calls_per_s", Math.round(perSecond))
                    .put("allocated_bytes_per_call", Math.round((double) allocated / count)));
            BenchProcess.awaitEnd();
        }
    }
}
