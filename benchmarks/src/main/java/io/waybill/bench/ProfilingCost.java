package io.waybill.bench;

import io.waybill.api.Invocation;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Allocation;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench profiling}: what the profiler costs a blocking call of {@code aten::add} on two tensors of one element,
 * run by libtorch in a node. One process calls a node without the profiler, twice, one with it, and that one in a
 * profile, by turns. A ratio is that of the medians beside it.
 *
 * @param calls of a round, in each mode
 * @param rounds odd; as one more before them warms up
 * @param waiting how the caller waits; the nodes wait in their default way
 */
public record ProfilingCost(int calls, int rounds, String waiting, BenchDistribution distribution) {

    static final String ROLE = "profiling-client";

    private static final int PROFILED_AT_ONCE = 1_000; // a profile has room for the events of more calls

    private enum Mode {
        /** Workers without the profiler. */
        ABSENT,
        /** The same workers again: what the figures differ by without a cause. */
        AGAIN,
        /** Workers with it, and no profile. */
        OFF,
        /** A profile. */
        ON
    }

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            Path without = children.directory().resolve("without");
            Path with = children.directory().resolve("with");
            progress.accept("two nodes start");
            distribution.startNode(children, without, BenchDistribution.ALL_LEVELS);
            BenchNode.order(
                    distribution.startNode(children, with, BenchDistribution.ALL_LEVELS),
                    "install " + distribution.profiler());
            progress.accept(rounds + " rounds of " + calls + " calls in each of four modes");
            return children.start(ROLE, without, with, distribution.profiler(), waiting, calls, rounds)
                    .figures();
        }
    }

    /** The profiler of the bundle's jar, which is not on the class path. */
    private static final class LoadedProfiler {

        private static final String PACKAGE = "io.waybill.profiler.";

        private final ClassLoader loader;
        private Object profiler; // null until the worker joins

        LoadedProfiler(Path jar) throws IOException {
            loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, LoadedProfiler.class.getClassLoader());
        }

        private Class<?> type(String name) throws ReflectiveOperationException {
            return loader.loadClass(PACKAGE + name);
        }

        Object make(Broker broker) {
            try {
                profiler = type("RemoteProfiler").getConstructor(Broker.class).newInstance(broker);
                return profiler;
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("the profiler can't be made", e);
            }
        }

        /** Begins a profile; the result ends it, and returns the number of its events. */
        Ending begin() throws ReflectiveOperationException {
            Class<?> config = type("profile.ProfilerConfig");
            Object session = type("Profiler")
                    .getMethod("begin", config)
                    .invoke(profiler, config.getMethod("cpu").invoke(null));
            return () -> {
                Object profile = type("ProfileSession").getMethod("end").invoke(session);
                return ((List<?>) type("profile.Profile").getMethod("events").invoke(profile)).size();
            };
        }
    }

    /** Ends a profile. */
    @FunctionalInterface
    private interface Ending {
        int events() throws ReflectiveOperationException;
    }

    /** The rounds of one mode. */
    private static final class Rounds {
        private final long[] p50Ns;
        private final long[] p10Ns; // of a machine with other programs
        private final double[] allocated;
        private final Histogram times = new Histogram(TimeUnit.SECONDS.toNanos(10), 3);

        Rounds(int count) {
            p50Ns = new long[count];
            p10Ns = new long[count];
            allocated = new double[count];
        }
    }

    /** Arguments: home without the profiler, home with it, its jar, waiting, calls, rounds. */
    static void client(String[] arguments) throws Exception {
        int calls = Integer.parseInt(arguments[4]);
        int count = Integer.parseInt(arguments[5]);
        LoadedProfiler profiler = new LoadedProfiler(Path.of(arguments[2]));
        try (Worker bare = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[3]));
                Worker profiled = Waybill.connect(Path.of(arguments[1]), "bench-caller")
                        .settings(EchoServer.settings(arguments[3]))
                        .withBroker(profiler::make)
                        .join()) {
            ChildProcess.ready();
            Map<Mode, Rounds> rounds = new EnumMap<>(Mode.class);
            for (int round = -1; round < count; round++) {
                for (int i = 0; i < Mode.values().length; i++) { // the order alternates
                    Mode mode = Mode.values()[Math.floorMod(round + i, Mode.values().length)];
                    Rounds own = rounds.computeIfAbsent(mode, any -> new Rounds(count));
                    measure(
                            mode == Mode.ABSENT || mode == Mode.AGAIN ? bare : profiled,
                            mode == Mode.ON ? profiler : null,
                            calls,
                            own,
                            round);
                }
            }
            ChildProcess.report(figures(calls, count, arguments[3], rounds));
            ChildProcess.awaitEnd();
        }
    }

    private static void measure(Worker worker, LoadedProfiler profiler, int calls, Rounds rounds, int round)
            throws ReflectiveOperationException {
        Storage one = worker.buffers().allocate(4);
        one.bytes(0, 4).putFloat(0, 1.5f);
        Value tensor = Value.of(Tensor.contiguous(DType.FLOAT32, new long[] {1}, one));
        Invocation add = new Invocation("aten::add", List.of(tensor, tensor), Map.of());
        rounds.times.reset();
        long allocated = 0;
        for (int done = 0; done < calls; done += PROFILED_AT_ONCE) {
            int some = Math.min(PROFILED_AT_ONCE, calls - done);
            Ending ending = profiler == null ? null : profiler.begin();
            long allocatedBefore = Allocation.ofThisProcess();
            for (int i = 0; i < some; i++) {
                long startNs = System.nanoTime();
                try (Response response = worker.rpc().rpcSync(BenchNode.NAME, add)) {
                    OperatorCall.requireThree(response);
                }
                rounds.times.recordValue(
                        Math.min(System.nanoTime() - startNs, rounds.times.getHighestTrackableValue()));
            }
            allocated += Allocation.ofThisProcess() - allocatedBefore;
            int events = ending == null ? 2 * some : ending.events();
            if (events < 2 * some) {
                throw new IllegalStateException(some + " calls and their handlers have " + events + " events");
            }
        }
        one.release();
        if (round >= 0) { // a negative one only warms up
            rounds.p50Ns[round] = rounds.times.getValueAtPercentile(50);
            rounds.p10Ns[round] = rounds.times.getValueAtPercentile(10);
            rounds.allocated[round] = (double) allocated / calls;
        }
    }

    private static Figures figures(int calls, int count, String waiting, Map<Mode, Rounds> rounds) {
        Figures figures = new Figures()
                .put("operator", "aten::add")
                .put("calls", calls)
                .put("rounds", count)
                .putChoice("waiting", waiting);
        rounds.forEach((mode, each) -> {
            String prefix = mode.name().toLowerCase(Locale.ROOT);
            figures.put(prefix + "_p50_ns", Figures.median(each.p50Ns))
                    .put(prefix + "_p10_ns", Figures.median(each.p10Ns))
                    .put(prefix + "_allocated_bytes_per_call", Figures.median(each.allocated));
            if (mode != Mode.ABSENT) {
                ratio(figures, prefix, "_p50");
                ratio(figures, prefix, "_p10");
            }
        });
        return figures;
    }

    /** Puts the ratio of two medians that were put. */
    private static void ratio(Figures figures, String prefix, String percentile) {
        figures.put(
                prefix + "_ratio" + percentile,
                figures.number(prefix + percentile + "_ns") / figures.number("absent" + percentile + "_ns"));
    }
}
