package io.waybill.bench;

import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench reference}: the time of {@code remote}, {@code toHere} and release of {@code aten::add} on two tensors
 * of one element, run by libtorch in a node, beside a blocking call of the same by turns.
 *
 * @param calls of a round, of each kind
 * @param rounds odd; as one more before them warms up
 * @param waiting how the caller waits; the node waits in its default way
 */
public record ReferenceCall(int calls, int rounds, String waiting, BenchDistribution distribution) {

    static final String ROLE = "reference-client";

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            progress.accept("a node starts");
            distribution.startNode(children, home, BenchDistribution.ALL_LEVELS);
            progress.accept(rounds + " rounds of " + calls + " references and " + calls + " calls");
            return children.start(ROLE, home, waiting, calls, rounds).figures();
        }
    }

    /** Arguments: home, waiting, calls, rounds. */
    static void client(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
            ChildProcess.ready();
            Storage one = worker.buffers().allocate(4);
            one.bytes(0, 4).putFloat(0, 1.5f);
            Value tensor = Value.of(Tensor.contiguous(DType.FLOAT32, new long[] {1}, one));
            Invocation add = new Invocation("aten::add", List.of(tensor, tensor), Map.of());
            Figures[] references = new Figures[rounds + 1];
            Figures[] calls = new Figures[rounds + 1];
            for (int round = 0; round <= rounds; round++) {
                references[round] = references(worker, add, count);
                calls[round] = calls(worker, add, count);
            }
            one.release();
            ChildProcess.report(figures(count, rounds, List.of(references), List.of(calls)));
            ChildProcess.awaitEnd();
        }
    }

    private static Figures figures(int count, int rounds, List<Figures> references, List<Figures> calls) {
        List<Figures> measured = references.subList(1, references.size());
        List<Figures> beside = calls.subList(1, calls.size());
        return new Figures()
                .put("operator", "aten::add")
                .put("calls", count)
                .put("rounds", rounds)
                .put("p50_ns", Figures.median(measured, "p50_ns"))
                .put("p99_ns", Figures.median(measured, "p99_ns"))
                .put("call_p50_ns", Figures.median(beside, "p50_ns"))
                .put("call_p99_ns", Figures.median(beside, "p99_ns"))
                .put("ratio_p50", (double) Figures.median(measured, "p50_ns") / Figures.median(beside, "p50_ns"));
    }

    private static Figures references(Worker worker, Invocation add, int count) {
        Histogram times = new Histogram(3);
        for (int i = 0; i < count; i++) {
            long startNs = System.nanoTime();
            try (RRef sum = worker.rpc().remote(BenchNode.NAME, add);
                    Response response = sum.toHere()) {
                OperatorCall.requireThree(response);
            }
            times.recordValue(System.nanoTime() - startNs);
        }
        return Percentiles.of(times);
    }

    private static Figures calls(Worker worker, Invocation add, int count) {
        Histogram times = new Histogram(3);
        for (int i = 0; i < count; i++) {
            long startNs = System.nanoTime();
            try (Response response = worker.rpc().rpcSync(BenchNode.NAME, add)) {
                OperatorCall.requireThree(response);
            }
            times.recordValue(System.nanoTime() - startNs);
        }
        return Percentiles.of(times);
    }
}
