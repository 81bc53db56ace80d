package io.waybill.rref;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Seeds;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whatever is delayed, repeated, reordered, lost or killed, no reference is used after its release, and nothing is left in the end. A seed
 * that fails is in the name of the test and in its error; {@code -Dwaybill.seed=N} runs that one alone.
 */
class RRefSimulationTest {

    private static final int SHORT = 2_000;
    private static final int LONG = 1_000_000;

    static LongStream seeds() {
        return Seeds.count(1, 10);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    @Timeout(60)
    void leavesNothingBehind(long seed) {
        Simulation simulation = run(seed, Simulation.Mode.STEADY, SHORT);
        assertThat(simulation.reads()).isGreaterThan(100);
        assertThat(simulation.brokenCreations()).isGreaterThan(10);
        assertThat(simulation.responded()).isGreaterThan(100);
        assertThat(simulation.late()).isGreaterThan(5);
        assertThat(simulation.holding()).isGreaterThan(30);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    @Timeout(60)
    void completesEverythingWhenWorkersAreKilled(long seed) {
        Simulation simulation = run(seed, Simulation.Mode.KILLS, SHORT);
        assertThat(simulation.reads()).isGreaterThan(50);
        assertThat(simulation.responded()).isGreaterThan(50);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    @Tag("slow")
    @Timeout(900)
    void leavesNothingBehindInAMillionOperations(long seed) {
        run(seed, Simulation.Mode.STEADY, LONG);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    @Tag("slow")
    @Timeout(900)
    void completesEverythingInAMillionOperationsWithKills(long seed) {
        assertThat(run(seed, Simulation.Mode.KILLS, LONG).killed()).isGreaterThan(100);
    }

    private static Simulation run(long seed, Simulation.Mode mode, int operations) {
        Simulation simulation = new Simulation(seed, mode);
        try {
            simulation.run(operations);
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(
                    "seed " + seed + " in mode " + mode + " with " + operations + " operations, run again with "
                            + Seeds.option(seed) + ": " + e.getMessage() + " (" + simulation.summary() + ")",
                    e);
        }
        return simulation;
    }
}
