package io.waybill.bench;

import io.waybill.api.Caller;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.HandlersAlone;
import io.waybill.bench.measure.ReplayHandlers;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.replay.Replay;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * {@code bench replay}: how fast recorded calls are replayed, beside how fast their handlers run alone: one thread, the
 * records in memory, nothing read, compared or counted. Both take turns over the same calls of mixed types. In the end
 * a few of them get a wrong response, and must be named.
 *
 * @param calls recorded and replayed
 * @param rounds odd
 */
public record ReplayRate(int calls, int rounds) {

    static final String ROLE = "replay";

    private static final String SERVER = "bench-server";
    private static final int IN_FLIGHT = 256;
    /** Number of calls that are held in memory for the handlers alone, which run them repeatedly. */
    private static final int HELD = 50_000;

    private static final int WRONG_ONE_IN = 10_000;

    private static final String TEXT = "the quick brown fox jumps over the lazy dog and goes on";

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            progress.accept("recording " + calls + " calls, and replaying them " + (rounds + 1) + " times");
            return children.start(ROLE, children.directory().resolve("home"), calls, rounds)
                    .figures();
        }
    }

    /** Arguments: home, calls, rounds. */
    static void measure(String[] arguments) throws Exception {
        ChildProcess.ready();
        ReplayRate rate = new ReplayRate(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        ChildProcess.report(rate.measure(Path.of(arguments[0])));
        ChildProcess.awaitEnd();
    }

    private Figures measure(Path home) throws Exception {
        record(home);
        long[] alone = new long[rounds];
        long[] replayed = new long[rounds];
        for (int round = 0; round < rounds; round++) {
            alone[round] = aloneNs(home);
            replayed[round] = replayNs(home);
        }
        long aloneNs = Figures.median(alone);
        long replayNs = Figures.median(replayed);
        return new Figures()
                .put("calls", calls)
                .put("rounds", rounds)
                .put("replayed_per_s", 1_000_000_000L / replayNs)
                .put("replay_ns_per_call", replayNs)
                .put("alone_ns_per_call", aloneNs)
                .put("ratio", (double) aloneNs / replayNs)
                .put("wrong_named", wrongNamed(home));
    }

    private void record(Path path) throws IOException {
        Host host = Host.real();
        Home home = Home.open(path, host);
        HandlerRegistry handlers = EchoServer.registry(host);
        ReplayHandlers.fill(handlers);
        WorkerSettings settings = WorkerSettings.defaults();
        try (Worker server = EchoServer.join(home, SERVER, settings, handlers);
                Worker caller = EchoServer.join(home, "bench-caller", settings, EchoServer.registry(host))) {
            server.ready(Map.of());
            caller.ready(Map.of());
            Deque<CompletableFuture<?>> inFlight = new ArrayDeque<>();
            for (int i = 0; i < calls; i++) {
                if (inFlight.size() == IN_FLIGHT) {
                    inFlight.remove().join();
                }
                inFlight.add(call(caller, i));
            }
            inFlight.forEach(CompletableFuture::join);
        }
    }

    private static CompletableFuture<?> call(Caller caller, int i) {
        return caller.callAsync(
                switch (i % 4) {
                    case 0 -> {
                        Request request = Request.operation(SERVER, "text.count");
                        request.body().text("text", TEXT + i);
                        yield request;
                    }
                    case 1 -> {
                        Request request = Request.operation(SERVER, "math.total");
                        request.body()
                                .float64("first", i)
                                .float64("second", 0.5)
                                .int64("third", i);
                        yield request;
                    }
                    case 2 -> {
                        List<Value> parts = List.of(Value.of("part"), Value.of("of"), Value.of("call " + i));
                        yield Request.invocation(
                                SERVER, MessageType.SCRIPT_CALL, new Invocation("text.join", parts, Map.of()));
                    }
                    default ->
                        Request.raw(
                                SERVER,
                                MessageType.userRequest(0x42),
                                ByteBuffer.allocate(64).putInt(0, i),
                                List.of());
                });
    }

    private long replayNs(Path home) throws IOException {
        long startNs = System.nanoTime();
        ReplayReport report = Replay.of(home)
                .worker(SERVER)
                .with("bench", (registry, worker) -> ReplayHandlers.fill(registry))
                .run();
        long tookNs = System.nanoTime() - startNs;
        if (!report.isAllSame() || report.calls() != calls) {
            throw new IOException("not all of " + calls + " calls were the same: " + report);
        }
        return tookNs / calls;
    }

    /**
     * Returns the number of reported calls with handlers that respond wrongly to one of 10,000 calls; fails unless
     * these calls are reported exactly.
     */
    private int wrongNamed(Path home) throws IOException {
        Set<Integer> wrong = new HashSet<>();
        ReplayReport report = Replay.of(home)
                .worker(SERVER)
                .with("wrong", (registry, worker) -> ReplayHandlers.fillWithOneWrong(registry, WRONG_ONE_IN))
                .run(call -> {
                    if (call.results().get(0).verdict() == Verdict.DIFFERENT) {
                        wrong.add(ReplayHandlers.number(call.call().request()));
                    }
                });
        Set<Integer> expected = new HashSet<>();
        for (int i = 3; i < calls; i += WRONG_ONE_IN) {
            expected.add(i);
        }
        if (!wrong.equals(expected) || report.count(Verdict.SAME) != calls - expected.size()) {
            throw new IOException("other calls than the wrong ones were named: " + report);
        }
        return wrong.size();
    }

    private long aloneNs(Path home) throws Exception {
        List<byte[]> requests = new ArrayList<>();
        try (CallRecording recording = Replay.open(home, Host.real())) {
            WorkerInfo server = recording.workers().stream()
                    .filter(worker -> worker.name().equals(SERVER))
                    .findFirst()
                    .orElseThrow();
            try (CallRecording.Handled handled = recording.handled(server, MessageFilter.ALL)) {
                RecordedCall call = handled.next();
                while (call != null && requests.size() < HELD) {
                    requests.add(call.request().record());
                    call = handled.next();
                }
            }
        }
        HandlerRegistry registry = EchoServer.registry(Host.real());
        ReplayHandlers.fill(registry);
        return new HandlersAlone(registry.table(), requests).nsPerCall(calls);
    }
}
