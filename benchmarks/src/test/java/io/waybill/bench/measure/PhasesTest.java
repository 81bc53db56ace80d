package io.waybill.bench.measure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PhasesTest {

    private static final long SECOND_NS = TimeUnit.SECONDS.toNanos(1);

    private final long pid = ProcessHandle.current().pid();

    @Test
    void takesTheWorkOfTheOtherSideFromTheTime() throws IOException {
        Figures figures = new Phases(0, 60, 3).measure(pid, Phases.oneByOne(() -> SECOND_NS));

        assertThat(figures.integer("calls")).isEqualTo(3);
        assertThat(figures.integer("max_ns"))
                .as("a call whose whole time is work")
                .isZero();
    }

    @Test
    void countsTheCallsOfEachSecondOfTheWarmUp() throws IOException {
        Figures figures = new Phases(30, 30, 5).measure(pid, Phases.oneByOne(() -> 0));

        long calls = 0;
        for (int second = 1; second <= 30; second++) {
            calls += figures.integer("second_" + second);
        }
        assertThat(calls).isEqualTo(5);
    }

    @Test
    void countsWhatThreadsWereWokenForEachCall() throws IOException {
        Figures figures = new Phases(0, 60, 50).measure(pid, Phases.oneByOne(() -> {
            LockSupport.parkNanos(1_000_000);
            return 0;
        }));

        // both sides are this process; other threads of it may be woken as well
        assertThat(figures.number("wakeups_per_call")).isGreaterThanOrEqualTo(0.9);
        assertThat(figures.number("served_wakeups_per_call")).isGreaterThanOrEqualTo(0.9);
    }

    @Test
    void timesOneOfTheCallsInFlightAtATime() {
        Phase phase = new Phase(SECOND_NS, 10);

        assertThat(phase.begin(3)).isTrue();
        assertThat(phase.begin(4)).as("while another one is timed").isFalse();
        assertThat(phase.isTimed(3)).isTrue();
        phase.end(0);
        assertThat(phase.begin(5)).isTrue();
        assertThat(phase.times().getTotalCount()).isEqualTo(1);
    }
}
