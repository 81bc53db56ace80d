package io.waybill.bench;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * {@code bench first}: how long a new process takes to join, and its first thousand calls of a worker that has served many. Each round is a new process; each
 * figure is the median over them.
 */
public record FirstCalls(int rounds, String waiting) {

    static final String ROLE = "first-calls-client";

    private static final int EARLY = 100;
    private static final int CALLS = 1_000;
    private static final int WARM_UP = 100_000;
    private static final List<String> TIMES = List.of("join_ns", "first_call_ns", "early_call_ns", "call_ns");

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            Children.Child server = children.start(EchoServer.ROLE, home, waiting, EchoHandler.EMPTY.argument());
            progress.accept("a process calls " + WARM_UP + " times");
            client(children, home, WARM_UP);
            List<Figures> all = new ArrayList<>();
            for (int round = 1; round <= rounds; round++) {
                progress.accept("process " + round + " of " + rounds);
                all.add(client(children, home, CALLS));
            }
            children.stop(server);
            Figures figures = new Figures().put("rounds", rounds).put("waiting", waiting);
            for (String time : TIMES) {
                figures.put(time, Figures.median(all, time));
            }
            return figures;
        }
    }

    private Figures client(Children children, Path home, int calls) throws IOException {
        Children.Child client = children.start(ROLE, home, waiting, calls);
        Figures figures = client.figures();
        children.stop(client);
        return figures;
    }

    /** Arguments: home, waiting, calls. */
    static void client(String[] arguments) throws Exception {
        BenchProcess.ready();
        int calls = Integer.parseInt(arguments[2]);
        long startNs = System.nanoTime();
        try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
            long joinedNs = System.nanoTime();
            call(worker, 1);
            long firstNs = System.nanoTime();
            call(worker, EARLY - 1);
            long earlyNs = System.nanoTime();
            call(worker, calls - EARLY);
            long endNs = System.nanoTime();
            BenchProcess.report(new Figures()
                    .put("join_ns", joinedNs - startNs)
                    .put("first_call_ns", firstNs - joinedNs)
                    .put("early_call_ns", (earlyNs - firstNs) / (EARLY - 1))
                    .put("call_ns", (endNs - earlyNs) / (calls - EARLY)));
            BenchProcess.awaitEnd();
        }
    }

    private static void call(Worker worker, int calls) {
        Request request =
                Request.raw(EchoServer.NAME, MessageType.userRequest(0x42), ByteBuffer.allocate(64), List.of());
        for (int i = 0; i < calls; i++) {
            worker.call(request).close();
        }
    }
}
