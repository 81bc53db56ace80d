package io.waybill.bench;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench envelopes}: what an envelope around a call costs a round trip: its handler dispatches the message
 * inside, and gives its response back. Rounds of bare and of enclosed calls alternate in the same two processes; each
 * figure is the median over the rounds.
 *
 * @param calls of a round
 * @param rounds odd; of each kind, after one to warm up
 * @param waiting how the workers wait
 * @param handler of the message inside; the envelope's is non-blocking, and waits for it only if it is non-blocking,
 *     too
 */
public record EnvelopeCost(int calls, int rounds, String waiting, EchoHandler handler) {

    static final String SERVER_ROLE = "envelopes-server";
    static final String ROLE = "envelopes-client";

    private static final int PAYLOAD_BYTES = 64;
    private static final MessageType ECHO = MessageType.userRequest(0x42);
    private static final MessageType ENVELOPE = MessageType.userRequest(0x44);

    public Figures run(Consumer<String> progress) throws IOException {
        progress.accept("rounds of calls with and without an envelope");
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            children.start(SERVER_ROLE, home, waiting, handler.argument());
            return children.start(ROLE, home, waiting, calls, rounds, handler.argument())
                    .figures();
        }
    }

    /** Arguments: home, waiting, handler. */
    static void server(String[] arguments) throws IOException {
        Host host = Host.real();
        HandlerRegistry handlers = EchoServer.registry(host);
        EchoHandler inside = EchoHandler.parse(arguments[2]);
        EchoServer.handle(handlers, inside);
        MessageHandler envelope = inside.isNonBlocking() ? EnvelopeCost::dispatch : EnvelopeCost::dispatchAsync;
        Provider provider = new Provider("bench-envelope", "1");
        handlers.add(new HandlerSpec(
                List.of(HandlerKey.parse("0x144")),
                envelope,
                true,
                provider,
                0,
                EnvelopeCost.class.getClassLoader(),
                handlers.newExecutor(provider, ExecutorSettings.forProcessors(2))));
        try (Worker worker = EchoServer.join(
                Home.open(Path.of(arguments[0]), host), EchoServer.NAME, EchoServer.settings(arguments[1]), handlers)) {
            worker.ready(Map.of());
            ChildProcess.ready();
            ChildProcess.awaitEnd();
        }
    }

    private static void dispatch(Message message, Outbox outbox) {
        try (Response inner = outbox.dispatch(ECHO, message.payload(), List.of(), List.of())) {
            outbox.respond(inner.payload());
        }
    }

    private static void dispatchAsync(Message message, Outbox outbox) {
        LateResponse late = outbox.later();
        outbox.dispatchAsync(ECHO, message.payload(), List.of(), List.of()).whenComplete((inner, failure) -> {
            if (failure != null) {
                late.fail(ErrorCode.HANDLER_FAILED, failure.toString());
                return;
            }
            try (inner) {
                late.send(inner.payload(), List.of(), List.of());
            }
        });
    }

    /** Arguments: home, waiting, calls, rounds, handler. */
    static void client(String[] arguments) throws Exception {
        int calls = Integer.parseInt(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        long[] bareNs = new long[rounds];
        long[] enclosedNs = new long[rounds];
        try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
            ChildProcess.ready();
            for (int round = -1; round < rounds; round++) {
                boolean first = round % 2 == 0; // the order alternates
                for (boolean enclosed : new boolean[] {first, !first}) {
                    long p50Ns = measure(worker, enclosed ? ENVELOPE : ECHO, calls);
                    if (round >= 0) {
                        (enclosed ? enclosedNs : bareNs)[round] = p50Ns;
                    }
                }
            }
            long bare = Figures.median(bareNs);
            long enclosed = Figures.median(enclosedNs);
            ChildProcess.report(new Figures()
                    .put("calls", calls)
                    .put("rounds", rounds)
                    .putChoice("waiting", arguments[1])
                    .putChoice("handler", EchoHandler.parse(arguments[4]).kind().name())
                    .put("p50_ns", bare)
                    .put("enclosed_p50_ns", enclosed)
                    .put("ratio_p50", (double) enclosed / bare));
            ChildProcess.awaitEnd();
        }
    }

    private static long measure(Worker worker, MessageType type, int calls) {
        Histogram times = new Histogram(TimeUnit.SECONDS.toNanos(10), 3);
        Request request = Request.raw(EchoServer.NAME, type, ByteBuffer.allocate(PAYLOAD_BYTES), List.of());
        for (int i = 0; i < calls; i++) {
            long startNs = System.nanoTime();
            worker.call(request);
            times.recordValue(Math.min(System.nanoTime() - startNs, times.getHighestTrackableValue()));
        }
        return times.getValueAtPercentile(50);
    }
}
