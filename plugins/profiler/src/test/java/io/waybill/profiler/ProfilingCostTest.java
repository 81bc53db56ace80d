package io.waybill.profiler;

import static io.waybill.profiler.ProfiledWorkers.ENGINE;
import static io.waybill.profiler.ProfiledWorkers.NATIVES;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.script.ScriptCall;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What profiling costs a blocking call of {@code aten::add}: rounds of each mode alternate, and the figures are medians over the rounds. It tests that the
 * calls are served and recorded, and prints the ratios. {@code -Dwaybill.profiling=CALLS,ROUNDS} for a measurement.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class ProfilingCostTest {

    private enum Mode {
        /** Workers without the profiler. */
        ABSENT,
        /** Workers with it, and no profile. */
        OFF,
        /** A profile. */
        ON,
        /** A profile with the operators of libtorch. */
        OPERATORS,
        /** A server-wide profile of the callee. */
        SERVER_WIDE
    }

    @TempDir
    private Path directory;

    private final int calls;
    private final int rounds;

    ProfilingCostTest() {
        String[] asked = System.getProperty("waybill.profiling", "100,3").split(",");
        calls = Integer.parseInt(asked[0]);
        rounds = Integer.parseInt(asked[1]);
    }

    @Test
    void callsAreServedInEachMode() throws Exception {
        Map<Mode, long[]> times = new EnumMap<>(Mode.class);
        Value one = ENGINE.run(ProfiledWorkers.invocation("aten::ones", Value.ints(1)));
        try (Worker callee = Waybill.connect(directory.resolve("bare"), "worker1")
                        .with(new ScriptCall(ENGINE))
                        .join();
                Worker caller =
                        Waybill.connect(directory.resolve("bare"), "worker0").join();
                ProfiledWorkers workers = ProfiledWorkers.of(directory.resolve("home"), 2)) {
            for (int round = -1; round < rounds; round++) {
                for (Mode mode : Mode.values()) {
                    long ns =
                            round(mode, mode == Mode.ABSENT ? caller : workers.workers.get(0), workers.profilers, one);
                    if (round >= 0) {
                        times.computeIfAbsent(mode, any -> new long[rounds])[round] = ns;
                    }
                }
            }
        }
        ((Value.OfTensor) one).value().storage().release();
        long[] absent = times.get(Mode.ABSENT);
        times.forEach((mode, all) -> System.out.printf(
                Locale.ROOT,
                "%-12s median %8d ns, ratio %.3f; fastest round %8d ns, ratio %.3f%n",
                mode,
                median(all),
                (double) median(all) / median(absent),
                fastest(all),
                (double) fastest(all) / fastest(absent)));
    }

    private static long fastest(long[] rounds) {
        return Arrays.stream(rounds).min().orElseThrow();
    }

    /** Returns the median time of a call. */
    private long round(Mode mode, Worker caller, List<RemoteProfiler> profilers, Value one) {
        Invocation add = ProfiledWorkers.invocation("aten::add", one, one);
        long[] ns = new long[calls];
        try (OperatorRecorder operators =
                        mode == Mode.OPERATORS ? new OperatorRecorder(profilers.get(1), NATIVES) : null;
                ProfileSession session = mode == Mode.ON || mode == Mode.OPERATORS
                        ? profilers.get(0).begin(ProfilerConfig.cpu())
                        : null;
                ServerProfileSession served = mode == Mode.SERVER_WIDE
                        ? profilers.get(1).beginServerProcessGlobal(ProfilerConfig.cpu())
                        : null) {
            for (int i = 0; i < calls; i++) {
                long begin = System.nanoTime();
                caller.rpc().rpcSync("worker1", add).close();
                ns[i] = System.nanoTime() - begin;
            }
            if (session != null) {
                assertThat(session.end().events()).as("events of %s", mode).hasSizeGreaterThanOrEqualTo(2 * calls);
            }
        }
        return median(ns);
    }

    private static long median(long[] values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
