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
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the poller and a thread that polls for its handlers, or is about to, leave to each other. */
@Timeout(180)
class ExpectedLeaderTest {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final int CALLS = 20;

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private final ManualClock clock = new ManualClock();
    private final AtomicInteger polls = new AtomicInteger();
    private final AtomicInteger looks = new AtomicInteger(); // before a sleep
    private volatile Runnable look = () -> {};
    private final HandlerRegistry registry =
            new HandlerRegistry(new ParkingSettings(1, LONG.toNanos()), host.threads(), clock);
    private final Provider provider = new Provider("acme", "1.0.0");
    private final HandlerExecutor executor = registry.newExecutor(provider, ExecutorSettings.forProcessors(2));
    private WorkerDirectory worker;
    private PollPermit permit;
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
            looks.incrementAndGet();
            look.run();
            return 0;
        }

        @Override
        public void readClock() {}
    }

    @BeforeEach
    void join() throws IOException {
        worker = Home.open(directory.resolve("home"), host).join("a", JoinOptions.defaults());
        PollContext context = context(host.withClock(clock));
        permit = context.permit();
        turns = context.turns;
        turns.open(new Counted());
        polling = new HandlerPolling(context, () -> {});
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

    private PollContext context(Host of) {
        return new PollContext("a", Waiting.BALANCED, of, worker.cursors(), worker.doorbell());
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
    void aLeaderWithoutThePermitWaitsForItAndLeavesSoon() {
        Thread leader = leadWithoutThePermit();
        Waits.until("it has left", () -> {
            clock.advance(Duration.ofNanos(50_000)); // again and again: it may not have read the clock yet
            return !leader.isAlive();
        });
        assertThat(polls).hasValue(0);
    }

    @Test
    void thePollerStopsReadingForALeaderThatWaitsForThePermit() {
        Thread leader = leadWithoutThePermit();
        polling.passedOn(entry);
        assertThat(polling.isExpected()).isTrue();
        permit.release();
        Waits.until("it has left", () -> !leader.isAlive());
        assertThat(polling.isExpected()).as("once it has had the permit").isFalse();
    }

    @Test
    void aLeaderSleepsInThePlaceOfThePollerAndPollsOnAfterARing() throws IOException {
        PeerCursors seen = PeerCursors.open(worker.path(), worker.id(), host.files());
        List<String> found = new ArrayList<>();
        look = () -> {
            found.add(turns.isSleeping() + " " + seen.isAsleepAfterFence());
            if (looks.get() == 1) {
                ring();
            }
        };
        sleepAtOnce();
        polling.poll(executor);
        assertThat(found)
                .as("whether this process and its peers ring, at each look before a sleep")
                .containsExactly("true true", "true true");
        assertThat(polls).as("polls after it had come, and after the ring").hasValue(2);
        assertThat(turns.isSleeping() || seen.isAsleepAfterFence())
                .as("whether this process or a peer rings for it once it has left")
                .isFalse();
        assertThat(permit.isFree()).isTrue();
        assertThat(polling.takeIdle()).isTrue();
    }

    @Test
    void aLeaderIsAwakeInAHandlerThatItFoundBeforeItSlept() throws IOException {
        PeerCursors seen = PeerCursors.open(worker.path(), worker.id(), host.files());
        AtomicBoolean asleep = new AtomicBoolean(true);
        look = () -> {
            if (looks.get() == 1) {
                polling.enter();
                asleep.set(turns.isSleeping() || seen.isAsleepAfterFence());
            }
        };
        sleepAtOnce();
        polling.poll(executor);
        assertThat(asleep).isFalse();
    }

    private void ring() {
        try {
            worker.doorbell().ring();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void thePollerStandsByForAnExpectedLeader() {
        PollContext context = context(host);
        Poller poller = new Poller(context);
        try {
            poller.start(new Counted() {
                @Override
                public int poll() {
                    poller.handlers().passedOn(entry);
                    return super.poll() + 1; // there is always more, so that it does not sleep
                }
            });
            Waits.until("it polls", () -> polls.get() > 0);
            Waits.until("the permit is free", context.permit()::tryAcquire);
            context.permit().release();
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
