package io.waybill.bench;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Allocation;
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
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;

/**
 * {@code bench interceptors} and {@code bench events}: what one interceptor on each side that does nothing costs a
 * round trip, or one listener on each side that counts the calls that ended, and one that counts all events. Both
 * workers add and withdraw theirs between rounds of the same two processes; each figure is the median over the rounds,
 * the cost that of the differences of neighbours.
 *
 * @param what is added
 * @param calls of a round
 * @param rounds odd; of each kind, after one to warm up
 * @param waiting how the workers wait
 */
public record ExtensionCost(Kind what, int calls, int rounds, String waiting) {

    static final String SERVER_ROLE = "extension-server";
    static final String ROLE = "extension-client";

    /** Kind of the extension. */
    public enum Kind {
        /** Interceptors that do nothing. */
        INTERCEPTORS("intercepted_"),
        /** Listeners that count responses and ended calls. */
        EVENTS("observed_"),
        /** Listeners that count all events. */
        ALL_EVENTS("followed_");

        private final String prefix; // of figures

        Kind(String prefix) {
            this.prefix = prefix;
        }
    }

    private static final int PAYLOAD_BYTES = 64;
    private static final MessageType SWITCH = MessageType.userRequest(0x43);
    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(10);
    private static final Provider PROVIDER = new Provider("bench-interceptor", "1");

    public Figures run(Consumer<String> progress) throws IOException {
        progress.accept("rounds with and without " + what.name().toLowerCase(Locale.ROOT));
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            children.start(SERVER_ROLE, home, waiting, what);
            return children.start(ROLE, home, waiting, calls, rounds, what).figures();
        }
    }

    /** Counts events. */
    private static final class Counting implements CallEvents {
        private final long[] counts = new long[CallEvent.Kind.values().length];
        private final Kind what;

        Counting(Kind what) {
            this.what = what;
        }

        @Override
        public Set<CallEvent.Kind> kinds() {
            return what == Kind.ALL_EVENTS
                    ? CallEvents.super.kinds()
                    : EnumSet.of(CallEvent.Kind.RESPONDED, CallEvent.Kind.ENDED);
        }

        @Override
        public void onEvent(CallEvent event) {
            counts[event.kind().ordinal()]++;
        }
    }

    /** Measures {@link Kind#EVENTS}, and then {@link Kind#ALL_EVENTS}. */
    public static Figures events(int calls, int rounds, String waiting, Consumer<String> progress) throws IOException {
        Figures some = new ExtensionCost(Kind.EVENTS, calls, rounds, waiting).run(progress);
        Figures all = new ExtensionCost(Kind.ALL_EVENTS, calls, rounds, waiting).run(progress);
        return some.put("followed_p50_ns", all.integer("followed_p50_ns"))
                .put("followed_ratio_p50", all.number("ratio_p50"))
                .put("followed_cost_ns", all.integer("cost_ns"));
    }

    /** Extension that is added and withdrawn. Belongs to one thread at a time. */
    private static final class Switch {
        private final Supplier<Runnable> adding; // returns what withdraws it
        private Runnable withdrawing; // null while it is not there

        Switch(Supplier<Runnable> adding) {
            this.adding = adding;
        }

        /** One that does not affect the calls of the side. */
        static Switch of(Kind what, Worker worker, Supplier<Runnable> intercepting) {
            return new Switch(what == Kind.INTERCEPTORS ? intercepting : () -> count(worker, what));
        }

        static <T> Runnable intercept(Interceptors<T> interceptors, T interceptor) {
            List<HandlerKey> keys = List.of(HandlerKey.parse(EchoServer.ECHO));
            Interceptors.Registration added = interceptors.add(new InterceptorSpec<>(keys, interceptor, PROVIDER, 0));
            return () -> added.withdraw(DRAIN_LIMIT);
        }

        private static Runnable count(Worker worker, Kind what) {
            return worker.events().add(PROVIDER.toString(), new Counting(what))::remove;
        }

        synchronized void set(boolean on) {
            if (on && withdrawing == null) {
                withdrawing = adding.get();
            } else if (!on && withdrawing != null) {
                withdrawing.run();
                withdrawing = null;
            }
        }
    }

    /** Arguments: home, waiting, what. */
    static void server(String[] arguments) throws IOException {
        Host host = Host.real();
        HandlerRegistry handlers = EchoServer.registry(host);
        EchoServer.handle(handlers);
        try (Worker worker = EchoServer.join(
                Home.open(Path.of(arguments[0]), host), EchoServer.NAME, EchoServer.settings(arguments[1]), handlers)) {
            HandlerInterceptor interceptor = (message, outbox) -> {};
            Switch around = Switch.of(
                    Kind.valueOf(arguments[2]),
                    worker,
                    () -> Switch.intercept(worker.interceptors().handlers(), interceptor));
            handlers.add(HandlerSpec.of(
                    HandlerKey.parse("0x143"),
                    (message, outbox) -> {
                        around.set(message.payload().get() != 0);
                        outbox.respond(ByteBuffer.allocate(Long.BYTES).putLong(0, Allocation.ofThisProcess()));
                    },
                    PROVIDER,
                    handlers.newExecutor(PROVIDER, ExecutorSettings.forProcessors(2))));
            worker.ready(Map.of());
            ChildProcess.ready();
            ChildProcess.awaitEnd();
        }
    }

    /** Arguments: home, waiting, calls, rounds, what. */
    static void client(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[3]);
        try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
            ChildProcess.ready();
            CallInterceptor interceptor = call -> {};
            Kind what = Kind.valueOf(arguments[4]);
            Switch around = Switch.of(
                    what, worker, () -> Switch.intercept(worker.interceptors().calls(), interceptor));
            Rounds bare = new Rounds(rounds);
            Rounds extended = new Rounds(rounds);
            for (int round = -1; round < rounds; round++) {
                boolean first = round % 2 == 0; // the order alternates
                for (boolean on : new boolean[] {first, !first}) {
                    around.set(on);
                    (on ? extended : bare).measure(round, worker, on, Integer.parseInt(arguments[2]));
                }
            }
            double[] costs = new double[rounds];
            for (int i = 0; i < rounds; i++) {
                costs[i] = extended.meanNs[i] - bare.meanNs[i];
            }
            long bareNs = Figures.median(bare.p50Ns);
            long extendedNs = Figures.median(extended.p50Ns);
            ChildProcess.report(new Figures()
                    .put("calls", Integer.parseInt(arguments[2]))
                    .put("rounds", rounds)
                    .putChoice("waiting", arguments[1])
                    .put("p50_ns", bareNs)
                    .put(what.prefix + "p50_ns", extendedNs)
                    .put("ratio_p50", (double) extendedNs / bareNs)
                    .put("cost_ns", Math.round(Figures.median(costs)))
                    .put("allocated_bytes_per_call", Figures.median(bare.allocated))
                    .put(what.prefix + "allocated_bytes_per_call", Figures.median(extended.allocated))
                    .put("served_allocated_bytes_per_call", Figures.median(bare.served))
                    .put(what.prefix + "served_allocated_bytes_per_call", Figures.median(extended.served)));
            ChildProcess.awaitEnd();
        }
    }

    /** The rounds of one kind. */
    private static final class Rounds {
        private final Histogram times = new Histogram(TimeUnit.SECONDS.toNanos(10), 3);
        private final long[] p50Ns;
        private final double[] meanNs; // of the faster half
        private final double[] allocated;
        private final double[] served;

        Rounds(int count) {
            p50Ns = new long[count];
            meanNs = new double[count];
            allocated = new double[count];
            served = new double[count];
        }

        /** Measures a round; a negative one only warms up. */
        void measure(int round, Worker worker, boolean on, int calls) {
            long servedBefore = served(worker, on);
            times.reset();
            Request request = Request.raw(
                    EchoServer.NAME, MessageType.userRequest(0x42), ByteBuffer.allocate(PAYLOAD_BYTES), List.of());
            long allocatedBefore = Allocation.ofThisProcess();
            for (int i = 0; i < calls; i++) {
                long startNs = System.nanoTime();
                worker.call(request);
                times.recordValue(Math.min(System.nanoTime() - startNs, times.getHighestTrackableValue()));
            }
            long own = Allocation.ofThisProcess() - allocatedBefore;
            long others = served(worker, on) - servedBefore;
            if (round >= 0) {
                p50Ns[round] = times.getValueAtPercentile(50);
                meanNs[round] = meanOfFasterHalf(times);
                allocated[round] = (double) own / calls;
                served[round] = (double) others / calls;
            }
        }

        /** Switches the server's interceptor, and returns what the server has allocated. */
        private static long served(Worker worker, boolean on) {
            Request request =
                    Request.raw(EchoServer.NAME, SWITCH, ByteBuffer.wrap(new byte[] {(byte) (on ? 1 : 0)}), List.of());
            try (Response response = worker.call(request)) {
                return response.payload().getLong();
            }
        }

        private static double meanOfFasterHalf(Histogram times) {
            long half = times.getTotalCount() / 2;
            long left = half;
            double sum = 0;
            for (var value : times.recordedValues()) {
                long taken = Math.min(left, value.getCountAtValueIteratedTo());
                sum += (double) taken * value.getValueIteratedTo();
                left -= taken;
            }
            return sum / Math.max(1, half);
        }
    }
}
