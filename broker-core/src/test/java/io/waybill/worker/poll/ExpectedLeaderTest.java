package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the poller and a thread that is about to poll for its handlers leave to each other. */
@Timeout(180)
class ExpectedLeaderTest {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final int CALLS = 20;

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private final ManualClock clock = new ManualClock();
    private final PollPermit permit = new PollPermit();
    private final AtomicInteger polls = new AtomicInteger();
    private final HandlerRegistry registry =
            new HandlerRegistry(new ParkingSettings(1, LONG.toNanos()), host.threads(), clock);
    private final Provider provider = new Provider("acme", "1.0.0");
    private final HandlerExecutor executor = registry.newExecutor(provider, ExecutorSettings.forProcessors(2));
    private WorkerDirectory worker;
    private PollTurns turns;
    private HandlerPolling polling;
    private HandlerEntry entry;

    /** Never has anything to poll. */
    private class Counted implements Polled {
        @Override
        public int poll() {
            polls.incrementAndGet();
            return 0;
        }

        @Override
        public int pollAll() {
            return poll();
        }

        @Override
        public void readClock() {}
    }

    @BeforeEach
    void join() throws IOException {
        worker = Home.open(directory.resolve("home"), host).join("a", JoinOptions.defaults());
        turns = new PollTurns("a", permit, worker.cursors(), new FaultAlarm());
        turns.open(new Counted());
        polling = new HandlerPolling(Waiting.BALANCED, clock, turns, new HandlerSlots(), () -> {});
        entry = registry.add(new HandlerSpec(
                        List.of(HandlerKey.parse("text.short")),
                        (message, outbox) -> {},
                        false,
                        provider,
                        0,
                        getClass().getClassLoader(),
                        executor))
                .entries()
                .get(0);
        calls(1);
    }

    @AfterEach
    void leave() throws IOException {
        executor.close(LONG);
        worker.close();
    }

    private void calls(long tookNs) {
        for (int i = 0; i < CALLS; i++) {
            entry.took(tookNs);
        }
    }

    @Test
    void thePollerLeavesRequestsToTheThreadOfAShortHandlerThatHasOne() {
        polling.passedOn(entry);
        assertThat(polling.isExpected()).isTrue();
        assertThat(polling.takeExpected()).isTrue();
        assertThat(polling.isExpected()).isFalse();

        calls(LONG.toNanos());
        polling.passedOn(entry);
        assertThat(polling.isExpected()).as("a thread of a long handler").isFalse();
    }

    @Test
    void aCallerThatPollsLeavesNothingToOthers() {
        turns.callerBegins();
        polling.passedOn(entry);
        assertThat(polling.isExpected()).isFalse();
    }

    @Test
    void thePollerExpectsNoLeaderForAWhileAfterNoneCame() {
        polling.passedOn(entry);
        assertThat(polling.takeExpected()).isTrue();
        polling.hasAwaited();
        polling.passedOn(entry);
        assertThat(polling.isExpected()).isFalse();

        clock.advance(LONG);
        polling.passedOn(entry);
        assertThat(polling.isExpected()).isTrue();
    }

    @Test
    void thePollerExpectsOneAgainAfterOneCame() {
        polling.passedOn(entry);
        assertThat(polling.takeExpected()).isTrue();
        sleepAtOnce();
        polling.poll(executor);
        polling.hasAwaited();
        polling.passedOn(entry);
        assertThat(polling.isExpected()).isTrue();
    }

    @Test
    void aLeaderPollsBeforeItSleepsThoughThePollerStillHasThePermit() {
        Thread leader = leadWithoutThePermit();
        assertThat(polls).hasValue(0);
        permit.release();
        Waits.until("it has left", () -> !leader.isAlive());
        assertThat(polls).hasValue(1);
        assertThat(permit.isFree()).isTrue();
    }

    @Test
    void aLeaderWithoutThePermitLeavesSoon() {
        Thread leader = leadWithoutThePermit();
        Waits.until("it has left", () -> {
            clock.advance(Duration.ofNanos(50_000)); // again and again: it may not have read the clock yet
            return !leader.isAlive();
        });
        assertThat(polls).hasValue(0);
    }

    @Test
    void thePollerStandsByForAnExpectedLeader() {
        Poller poller = new Poller(
                "a",
                Waiting.BALANCED,
                host.clock(),
                host.threads(),
                turns,
                new HandlerSlots(),
                new Deadlines(),
                worker.cursors(),
                worker.doorbell());
        try {
            poller.start(new Counted() {
                @Override
                public int poll() {
                    poller.handlers().passedOn(entry);
                    return super.poll() + 1; // there is always more, so that it does not sleep
                }
            });
            Waits.until("it polls", () -> polls.get() > 0);
            Waits.until("the permit is free", permit::tryAcquire);
            permit.release();
            int before = polls.get();
            Waits.until("it polls again, though no leader came", () -> polls.get() > before);
        } finally {
            poller.close();
        }
    }

    /** Starts a thread that leads while this one has the permit, and polling does not pay. */
    private Thread leadWithoutThePermit() {
        sleepAtOnce();
        assertThat(permit.tryAcquire()).isTrue();
        Thread leader = host.threads().start("leader", () -> polling.poll(executor));
        Waits.until("it leads", polling::isLed);
        return leader;
    }

    /** Polling has not paid. */
    private void sleepAtOnce() {
        turns.balance().lost(LONG.toNanos(), clock.monotonicNs());
        assertThat(turns.balance().sleepsAtOnce(clock.monotonicNs())).isTrue();
    }
}
