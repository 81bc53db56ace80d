package io.waybill.host.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.ChangeWatch;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Waits between the duty cycles of an agent, with a real watch of a directory and a clock that the test moves. */
@Timeout(180)
class ChangeIdleStrategyTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long DAY = TimeUnit.DAYS.toNanos(1);

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private final List<Long> waits = new ArrayList<>();
    private ChangeWatch changes;
    private ChangeIdleStrategy idle;

    /** Notes for how long each wait may last, and only checks whether it is over. */
    private final Threads noting = new Threads() {
        @Override
        public Thread start(String name, Runnable body) {
            return Host.real().threads().start(name, body);
        }

        @Override
        public boolean await(LongPredicate wait, long maxNs) {
            waits.add(maxNs);
            return wait.test(0);
        }
    };

    @BeforeEach
    void open() throws IOException {
        changes = ChangeWatch.open(Host.real().calls(), directory);
        idle = new ChangeIdleStrategy(clock, changes, noting);
    }

    @AfterEach
    void close() {
        changes.close();
    }

    @Test
    void waitsForWhatIsLeftOfTheLastRestAlone() {
        idle.rest(DAY);
        idle.rest(10 * SECOND);
        clock.advance(Duration.ofSeconds(4));
        idle.idle(100); // however much was done
        assertThat(waits).as("max times of the waits").containsExactly(6 * SECOND);
        assertThat(idle.hasChanged()).as("whether it ended early").isFalse();
    }

    @Test
    void doesNotWaitWhenADutyCycleIsDue() {
        idle.idle();
        idle.rest(SECOND);
        clock.advance(Duration.ofSeconds(1));
        idle.idle();
        idle.rest(SECOND);
        clock.advance(Duration.ofSeconds(5)); // the duty cycle took longer than its rest
        idle.idle();
        idle.rest(DAY);
        idle.reset();
        idle.idle();
        assertThat(waits).as("waits").isEmpty();
        assertThat(idle.hasChanged()).as("whether one ended early").isFalse();
    }

    @Test
    void keepsAChangeForTheNextWaitWhenADutyCycleIsDueAnyway() throws IOException {
        Files.createDirectory(directory.resolve("1-peer"));
        idle.idle();
        assertThat(idle.hasChanged()).as("without a wait").isFalse();
        idle.rest(SECOND);
        idle.idle();
        assertThat(idle.hasChanged()).as("with the first wait").isTrue();
        idle.idle();
        assertThat(idle.hasChanged()).as("with the next wait").isFalse();
    }

    /** Waits for a day on a thread of its own, until something else ends the wait. */
    private void endsADayOfWaiting(ThrowingStep step) throws Exception {
        ChangeIdleStrategy real =
                new ChangeIdleStrategy(clock, changes, Host.real().threads());
        real.rest(DAY);
        Thread agent = Host.real().threads().start("agent", real::idle);
        step.run();
        Waits.until("the wait of a day has ended", () -> !agent.isAlive());
        assertThat(real.hasChanged()).as("whether it ended early").isTrue();
    }

    private interface ThrowingStep {
        void run() throws Exception;
    }

    @Test
    void endsAWaitWithAChange() throws Exception {
        endsADayOfWaiting(() -> Files.createDirectory(directory.resolve("1-peer")));
    }

    @Test
    void endsAWaitWhenAnotherThreadWakesIt() throws Exception {
        endsADayOfWaiting(() -> idle.wake()); // of the same watch, before the wait or in it
    }

    @Test
    void doesNotWaitForAClosedWatch() throws Exception {
        endsADayOfWaiting(() -> changes.close());
        endsADayOfWaiting(() -> idle.wake()); // does nothing any more
    }
}
