package io.waybill.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.DirectoryTree;
import io.waybill.testing.core.Seeds;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers in one thread, in orders that seeds decide. */
@Timeout(value = 24, unit = java.util.concurrent.TimeUnit.HOURS)
class SimulationTest {

    private static final int SEEDS = Integer.getInteger("waybill.simulation.seeds", 4);
    private static final int CALLS = Integer.getInteger("waybill.simulation.calls", 100);

    @TempDir
    private Path directory;

    private Simulation.Result run(long seed) throws IOException {
        Path home = directory.resolve("home");
        try {
            return Simulation.run(seed, home, CALLS);
        } finally {
            DirectoryTree.remove(home);
        }
    }

    @Test
    void eachCallHasOneOutcomeAndEachCountReturnsToZero() throws IOException {
        Map<String, Integer> outcomes = new TreeMap<>();
        long turns = 0;
        long beganNs = System.nanoTime();
        long cpuBeganNs = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        long[] seeds = Seeds.count(1, SEEDS).toArray();
        for (long seed : seeds) {
            Simulation.Result result = run(seed);
            assertThat(result.problems())
                    .as("seed %d; repeat it with %s", seed, Seeds.option(seed))
                    .isEmpty();
            turns += result.turns();
            result.outcomes().forEach((how, count) -> outcomes.merge(how, count, Integer::sum));
        }
        System.out.println(seeds.length + " seeds in " + (System.nanoTime() - beganNs) / 1_000_000 + " ms, "
                + (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpuBeganNs) / 1_000_000
                + " of them on a processor, " + turns
                + " turns: " + outcomes);
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
