package io.waybill.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.waybill.host.DirectoryTree;
import io.waybill.testing.core.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;
import org.slf4j.LoggerFactory;

/** Workers in one JVM, one thread at a time, in orders that seeds decide. Several simulations run at once. */
@Timeout(value = 24, unit = TimeUnit.HOURS)
class SimulationTest {

    private static final int SEEDS = Integer.getInteger("waybill.simulation.seeds", 4);
    private static final long FIRST = Long.getLong("waybill.simulation.first", 1);
    private static final int CALLS = Integer.getInteger("waybill.simulation.calls", 100);
    private static final int THREADS = Integer.getInteger(
            "waybill.simulation.threads", Runtime.getRuntime().availableProcessors());

    private static final Logger LOG = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
    private static final Logger CHRONICLES = (Logger) LoggerFactory.getLogger("net.openhft");

    @TempDir(factory = InMemory.class)
    private Path directory;

    /** In memory, where there is room: on a disk, simulations spend three quarters of their time waiting for what is written when a worker leaves. */
    static final class InMemory implements TempDirFactory {
        private static final Path MEMORY = Path.of("/dev/shm");
        private static final long BYTES_EACH = 256L << 20;

        @Override
        public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context) throws IOException {
            boolean hasRoom =
                    Files.isWritable(MEMORY) && Files.getFileStore(MEMORY).getUsableSpace() >= BYTES_EACH * THREADS;
            return hasRoom
                    ? Files.createTempDirectory(MEMORY, "waybill-simulation")
                    : Files.createTempDirectory("waybill-simulation");
        }
    }

    /** A seed that is repeated says what it does; of many, the log takes longer than all else. */
    @BeforeEach
    void logOneSeedAlone() {
        if (Long.getLong(Seeds.PROPERTY) == null) {
            LOG.setLevel(Level.OFF);
            CHRONICLES.setLevel(Level.OFF);
        }
    }

    @AfterEach
    void log() {
        LOG.setLevel(Level.DEBUG);
        CHRONICLES.setLevel(Level.WARN);
    }

    private Simulation.Result run(long seed) throws IOException {
        Path home = directory.resolve("home-" + seed);
        try {
            return Simulation.run(seed, home, CALLS);
        } finally {
            DirectoryTree.remove(home);
        }
    }

    private static long cpuNs() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .orElse(Duration.ZERO)
                .toNanos();
    }

    @Test
    void eachCallHasOneOutcomeAndEachCountReturnsToZero() throws Exception {
        Map<String, Integer> outcomes = new ConcurrentSkipListMap<>();
        LongAdder turns = new LongAdder();
        LongAdder histories = new LongAdder();
        long cpuBeganNs = cpuNs();
        long beganNs = System.nanoTime();
        Map<Long, String> problems = new ConcurrentSkipListMap<>();
        long[] seeds = Seeds.count(FIRST, SEEDS).toArray();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (long seed : seeds) {
                running.add(threads.submit(() -> {
                    Simulation.Result result = run(seed);
                    if (!result.problems().isEmpty()) {
                        problems.put(seed, result.problems() + "; repeat it with " + Seeds.option(seed));
                    }
                    turns.add(result.turns());
                    histories.add(result.history().hashCode());
                    result.outcomes().forEach((how, count) -> outcomes.merge(how, count, Integer::sum));
                    return null;
                }));
            }
            for (Future<?> each : running) {
                each.get();
            }
        } finally {
            threads.shutdownNow();
            assertThat(threads.awaitTermination(1, TimeUnit.MINUTES))
                    .as("whether the simulations have ended")
                    .isTrue();
        }
        System.out.println(seeds.length + " seeds in " + (System.nanoTime() - beganNs) / 1_000_000 + " ms, "
                + (cpuNs() - cpuBeganNs) / 1_000_000 + " on processors, " + turns.sum() + " turns, histories "
                + Long.toHexString(histories.sum()) + ": " + outcomes); // the same in each JVM
        assertThat(problems).as("problems, by their seeds").isEmpty();
        assertThat(outcomes).containsKeys("response");
    }

    @Test
    void aSeedGivesTheSameHistoryTwice() throws IOException {
        for (long seed : Seeds.count(1, 1).toArray()) {
            assertThat(run(seed).history())
                    .as("seed %d", seed)
                    .isEqualTo(run(seed).history());
        }
    }
}
