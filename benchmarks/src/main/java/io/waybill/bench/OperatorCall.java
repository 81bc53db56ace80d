package io.waybill.bench;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
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
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench operator}: the time of a blocking call of {@code aten::add} on two tensors of one element, run by
 * libtorch in a node.
 *
 * @param calls after as many to warm up
 * @param waiting how the caller waits; the node waits in its default way
 */
public record OperatorCall(int calls, String waiting, BenchDistribution distribution) {

    static final String ROLE = "operator-client";

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            progress.accept("a node starts");
            distribution.startNode(children, home, BenchDistribution.ALL_LEVELS);
            progress.accept(2L * calls + " calls");
            Figures figures = children.start(ROLE, home, waiting, calls).figures();
            return new Figures()
                    .put("operator", "aten::add")
                    .put("calls", calls)
                    .put("p50_ns", figures.integer("p50_ns"))
                    .put("p99_ns", figures.integer("p99_ns"))
                    .put("p999_ns", figures.integer("p999_ns"));
        }
    }

    /** Arguments: home, waiting, calls. */
    static void client(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[2]);
        try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
            ChildProcess.ready();
            Storage one = worker.buffers().allocate(4);
            one.bytes(0, 4).putFloat(0, 1.5f);
            Value tensor = Value.of(Tensor.contiguous(DType.FLOAT32, new long[] {1}, one));
            Request request = Request.invocation(
                    BenchNode.NAME,
                    MessageType.SCRIPT_CALL,
                    new Invocation("aten::add", List.of(tensor, tensor), Map.of()));
            Histogram times = new Histogram(TimeUnit.SECONDS.toNanos(10), 3);
            for (int round = 0; round < 2; round++) { // the first warms up
                times.reset();
                for (int i = 0; i < count; i++) {
                    long startNs = System.nanoTime();
                    try (Response response = worker.call(request)) {
                        times.recordValue(System.nanoTime() - startNs);
                        if (i == 0) {
                            requireThree(response);
                        }
                    }
                }
            }
            one.release();
            ChildProcess.report(Percentiles.of(times));
            ChildProcess.awaitEnd();
        }
    }

    static void requireThree(Response response) {
        float sum = response.tensors().get(0).storage().bytes(0, 4).getFloat(0);
        if (sum != 3f) {
            throw new IllegalStateException("1.5 + 1.5 is 3, and the node responded " + sum);
        }
    }
}
