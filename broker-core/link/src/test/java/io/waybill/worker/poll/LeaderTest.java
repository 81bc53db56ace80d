package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.PolledTasks;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the poller and a thread that polls for its handlers leave to each other. */
@Timeout(180)
class LeaderTest {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final int CALLS = 20;
    private static final PollTimes TIMES = times(1_000_001, 2_000_001);

    private static PollTimes times(long maxSleepNs, long maxIdleSleepNs) {
        return new PollTimes(
                Waiting.BALANCED,
                PollTimes.AUTO,
                PollTimes.AUTO,
                4_000_001,
                200_001,
                300_001,
                maxSleepNs,
                maxIdleSleepNs,
                2_000_000,
                20_000_000,
                640_000_000,
                100_000_000);
    }

    @TempDir
    private Path directory;

    private final Set<Long> waits = ConcurrentHashMap.newKeySet(); // max times, in nanoseconds
    private final List<String> robbed = new CopyOnWriteArrayList<>(); // threads that took a ring which was not theirs
    private volatile Runnable rung = () -> {}; // after a leader's wait on the doorbell
    private volatile Runnable unparked = () -> {};
    private final Host host = Host.real().withThreads(new Noting());
    private final ManualClock clock = new ManualClock();
    private final AtomicInteger polls = new AtomicInteger();
    private final AtomicInteger looks = new AtomicInteger(); // before a sleep
    private volatile int work; // of the next polls
    private volatile IntSupplier look = () -> 0; // returns what was done
    private volatile Runnable poll = () -> {};
    private boolean hasWork;
    private boolean checks;
    private final HandlerRegistry registry =
            new HandlerRegistry(new ParkingSettings(1, LONG.toNanos()), host.threads(), clock);
    private final Provider provider = new Provider("acme", "1.0.0");
    private final HandlerExecutor executor = registry.newExecutor(provider, ExecutorSettings.forProcessors(2));
    private WorkerDirectory worker;
    private PollPermit permit;
    private PollTurns turns;
    private Poller poller;
    private HandlerPolling polling;
    private HandlerEntry entry;

    /** Notes how long threads wait at most. */
    private final class Noting implements Threads {
        @Override
        public Thread start(String name, Runnable body) {
            return Host.real().threads().start(name, body);
        }

        @Override
        public void park(Object blocker, long maxNs) {
            waits.add(maxNs);
            Threads.super.park(blocker, maxNs);
        }

        @Override
        public boolean await(LongPredicate wait, long maxNs) {
            waits.add(maxNs);
            boolean leads = maxNs == TIMES.leaderRestNs();
            if (leads && !poller.hasRings()) {
                robbed.add(Thread.currentThread().getName());
            }
            boolean came = Threads.super.await(wait, maxNs);
            if (leads && came) {
                rung.run();
            }
            return came;
        }

        @Override
        public void unpark(Thread thread) {
            unparked.run();
            Threads.super.unpark(thread);
        }
    }

    /** Never has anything to poll. */
    private class Counted implements Polled {
        @Override
        public int poll() {
            polls.incrementAndGet();
            poll.run();
            return work;
        }

        @Override
        public int pollAll() {
            looks.incrementAndGet();
            return look.getAsInt();
        }

        @Override
        public boolean mayHaveWork() {
            return hasWork;
        }

        @Override
        public void readClock() {}
    }

    @BeforeEach
    void join() throws IOException {
        worker = Home.open(directory.resolve("home"), host).join("a", JoinOptions.defaults());
        open(TIMES);
        registry.addListener(new HandlerRegistry.Listener() {
            @Override
            public void changed() {}

            @Override
            public PolledTasks.Polling polling() {
                return polling;
            }
        });
        entry = add("text.short", executor);
        calls(1);
    }

    private HandlerEntry add(String key, HandlerExecutor by) {
        return registry.add(new HandlerSpec(
                        List.of(HandlerKey.parse(key)),
                        (message, outbox) -> {},
                        false,
                        provider,
                        0,
                        getClass().getClassLoader(),
                        by))
                .entries()
                .get(0);
    }

    private void open(PollTimes times) {
        PollContext context = new PollContext("a", times, host.withClock(clock), worker.cursors(), worker.doorbell());
        permit = context.permit();
        turns = context.turns;
        turns.open(new Counted());
        poller = new Poller(context);
        polling = poller.handlers();
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
    void aLeaderSleepsOnTheDoorbellInThePlaceOfASleepingPollerAndPollsOnAfterARing() throws Exception {
        List<String> found = new ArrayList<>();
        look = () -> {
            found.add(turns.isSleeping() + " " + isMarkedAsleep());
            if (looks.get() == 1) {
                ring();
            }
            return 0;
        };
        whileThePollerSleeps(() -> {
            sleepAtOnce();
            polling.poll(executor, null);
            assertThat(found)
                    .as("whether the poller sleeps, and peers ring, at each look before a sleep")
                    .containsExactly("true true", "true true");
            assertThat(polls).as("polls after it had come, and after the ring").hasValue(2);
            assertThat(turns.isSleeping() && isMarkedAsleep())
                    .as("whether peers ring for the poller once the leader has left")
                    .isTrue();
            assertThat(permit.isFree()).isTrue();
            assertThat(poller.hasRings()).isFalse();
        });
    }

    @Test
    void peersRingForThePollerWhileALeaderIsInAHandlerThatMayBeLong() throws Exception {
        calls(LONG.toNanos());
        assertThat(inAHandler()).isEqualTo("peers ring true, leads false, woken false");
    }

    @Test
    void aLeaderThatSeesMoreRequestsWakesThePollerBeforeItEntersALongHandler() throws Exception {
        calls(LONG.toNanos());
        hasWork = true;
        assertThat(inAHandler()).isEqualTo("peers ring true, leads false, woken true");
    }

    @Test
    void thePollerChecksALeaderInAShortHandlerForWhichNoPeerRings() throws Exception {
        assertThat(inAHandler()).isEqualTo("peers ring false, leads true, woken true");
        checks = true;
        assertThat(inAHandler()).as("while it checks").isEqualTo("peers ring false, leads true, woken false");
        assertThat(polling.takeCheck()).as("it checks when no thread leads").isFalse();
    }

    @Test
    void aLeaderWhoseLastLookRanAHandlerTakesNoRingOfTheThreadThatLeadsNow() throws Exception {
        calls(LONG.toNanos());
        CountDownLatch hasLeft = new CountDownLatch(1);
        Thread next = new Thread(() -> polling.poll(executor, null), "next");
        look = () -> {
            if (looks.get() > 1) { // on the next leader, which has the rings
                await(hasLeft);
                return 0;
            }
            polling.enter(entry);
            next.start();
            Waits.until("another thread leads, and has the rings", () -> looks.get() > 1);
            return Polled.PERMIT_LOST;
        };
        whileThePollerSleeps(() -> {
            sleepAtOnce();
            polling.poll(executor, null);
            assertThat(looks).as("looks of two leaders").hasValue(2);
            hasLeft.countDown();
            assertThat(robbed)
                    .as("threads that waited for the rings of another one: none of them polls after such a ring")
                    .isEmpty();
        });
        next.join();
    }

    @Test
    void aLeaderThatLeavesAfterARingPassesItOn() throws Exception {
        look = () -> {
            if (looks.get() == 1) {
                ring();
            }
            return 0;
        };
        rung = () -> {
            rung = () -> {};
            worker.cursors().markAsleep(); // still
            host.threads().start("closer", () -> executor.close(LONG));
            Waits.until("its bundle leaves", executor::isClosed);
        };
        whileThePollerSleeps(() -> {
            sleepAtOnce();
            polling.poll(executor, null);
            assertThat(polls).as("polls after the ring").hasValue(1);
            assertThat(worker.doorbell().await(0))
                    .as("whether the poller, which sleeps, is woken for what it was rung for")
                    .isTrue();
        });
    }

    @Test
    void aLeaderThatLeavesInsideAHandlerLeavesTheRestToRings() throws Exception {
        HandlerExecutor others =
                registry.newExecutor(new Provider("other", "1.0.0"), ExecutorSettings.forProcessors(2));
        try {
            HandlerEntry other = add("text.other", others);
            work = Polled.PERMIT_LOST;
            poll = () -> {
                polling.enter(entry); // a short one
                for (int i = 0; i < CALLS; i++) {
                    polling.passedOn(other);
                }
            };
            whileThePollerSleeps(() -> {
                polling.poll(executor, null);
                assertThat(looks).as("looks once it has left").hasValue(1);
                assertThat(isMarkedAsleep())
                        .as("whether peers ring from then on: until now it polled for the sleeping poller")
                        .isTrue();
            });
        } finally {
            others.close(LONG);
        }
    }

    /** The leader saw that the poller is awake, and releases the permit after that. */
    @Test
    void aPollerThatFallsAsleepWhileALeaderEntersALongHandlerIsWoken() {
        calls(LONG.toNanos());
        List<String> seen = new ArrayList<>();
        poll = () -> {
            turns.close();
            waitForThePermit();
            unparked = () -> turns.sleepUntil(Long.MAX_VALUE);
            polling.enter(entry);
            seen.add("sleeps " + turns.isSleeping() + ", woken "
                    + worker.doorbell().await(0) + ", looks " + looks);
        };
        work = Polled.PERMIT_LOST;
        polling.poll(executor, null);
        assertThat(seen)
                .as("the poller, when the leader has handed over to one that was awake before")
                .containsExactly("sleeps true, woken true, looks 0");
    }

    /** As a poller does that stands by. */
    private void waitForThePermit() {
        Thread waiting = host.threads().start("waiting", permit::tryAcquireOrWait);
        Waits.until("a thread waits for the permit", () -> !waiting.isAlive());
    }

    @Test
    void aPollerThatIsRungWhileAThreadReleasesThePermitPollsAfterIt() {
        open(times(LONG.toNanos(), LONG.toNanos()));
        sleepAtOnce();
        try {
            poller.start(new Counted());
            Waits.until("it sleeps", () -> turns.isSleeping() && permit.isFree());
            Waits.until("another thread has the permit", permit::tryAcquire);
            ring(); // after that thread has looked for the last time
            Waits.until("the poller waits for its release: " + waits, () -> waits.contains(PollTimes.STANDBY_NS));
            int before = polls.get();
            permit.release();
            Waits.until("the poller polls", () -> polls.get() > before);
        } finally {
            poller.close();
        }
    }

    @Test
    void aLeaderLeavesWhenOnlyRequestsOfAnotherBundleCome() {
        HandlerExecutor others =
                registry.newExecutor(new Provider("other", "1.0.0"), ExecutorSettings.forProcessors(2));
        try {
            HandlerEntry other = add("text.other", others);
            poll = () -> polling.passedOn(other); // without a pause: the clock stands still
            Thread leader = host.threads().start("leader", () -> polling.poll(executor, null));
            Waits.until("it has left the lead to a thread of theirs", () -> !leader.isAlive());
        } finally {
            poll = turns::close; // it ends in any case
            others.close(LONG);
        }
    }

    @Test
    void aLeaderLeadsAgainAfterALongHandler() {
        calls(LONG.toNanos());
        work = Polled.PERMIT_LOST;
        List<String> seen = new CopyOnWriteArrayList<>();
        poll = () -> {
            polling.begin(entry, () -> {});
            HandlerSlot self = polling.enter(entry);
            String inside = "inside of it " + polling.isLed();
            polling.leave(self, entry);
            seen.add(inside + ", after it " + polling.isLed());
            turns.close();
        };
        for (int i = 0; i < 2; i++) { // tasks that follow each other soon
            executor.execute(() -> {});
        }
        Waits.until("a request was handled", () -> !seen.isEmpty());
        assertThat(seen).as("whether a thread leads").containsExactly("inside of it false, after it true");
    }

    /** Enters a handler as leader while the poller sleeps. Returns what is then. */
    private String inAHandler() throws Exception {
        List<String> seen = new ArrayList<>();
        poll = () -> {
            poll = () -> {};
            if (checks) {
                polling.enter(entry);
                assertThat(polling.takeCheck()).as("it checks").isTrue();
            }
            worker.doorbell().await(0); // earlier rings
            polling.enter(entry);
            seen.add("peers ring " + isMarkedAsleep() + ", leads " + polling.isLed() + ", woken "
                    + worker.doorbell().await(0));
        };
        whileThePollerSleeps(() -> {
            sleepAtOnce();
            polling.poll(executor, null);
        });
        return String.join("; ", seen);
    }

    /** Runs something while another thread is marked as the poller that sleeps. */
    private void whileThePollerSleeps(Runnable run) throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        Thread sleeper = host.threads().start("sleeper", () -> {
            turns.sleepUntil(Long.MAX_VALUE);
            await(over);
            turns.wakeUp();
        });
        Waits.until("it sleeps", turns::isSleeping);
        worker.cursors().markAsleep();
        try {
            run.run();
        } finally {
            over.countDown();
            sleeper.join();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private boolean isMarkedAsleep() {
        return worker.cursors().isMarkedAsleep();
    }

    private void ring() {
        try {
            worker.doorbell().ring();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void thePollerSleepsOnceThereIsNothingMoreThanWhatItHasPassedOn() {
        AtomicBoolean passes = new AtomicBoolean();
        poll = () -> {
            if (passes.get()) {
                polling.passedOn(entry);
            }
        };
        try {
            poller.start(new Counted()); // whose clock stands still: it would never stop polling
            Waits.until("it polls", () -> polls.get() > 1_000);
            assertThat(turns.isSleeping()).isFalse();
            passes.set(true);
            Waits.until("it sleeps", turns::isSleeping);
        } finally {
            poller.close();
        }
    }

    @Test
    void thePollerSleepsAsLongAsIsSetAndLongerOnceTheWorkerIsIdle() {
        sleepAtOnce();
        try {
            poller.start(new Counted());
            Waits.until("it sleeps for max-sleep: " + waits, () -> waits.contains(TIMES.maxSleepNs()));
            Waits.until("it sleeps for max-idle-sleep: " + waits, () -> waits.contains(TIMES.maxIdleSleepNs()));
        } finally {
            poller.close();
        }
    }

    @Test
    void thePollerChecksALeaderAfterTheTimesThatAreSet() {
        CountDownLatch over = new CountDownLatch(1);
        sleepAtOnce();
        try {
            poller.start(new Counted());
            Waits.until("it sleeps", turns::isSleeping);
            poll = () -> {
                if (polling.isLed()) { // on the leader's thread
                    poll = () -> {};
                    permit.release();
                    while (over.getCount() > 0) { // one short handler after the other
                        polling.enter(entry);
                        host.threads().pause(50_000);
                    }
                    turns.close();
                }
            };
            host.threads().start("leader", () -> polling.poll(executor, null));
            Waits.until("it checks after leader-check: " + waits, () -> waits.contains(TIMES.leaderCheckNs()));
            Waits.until("and after max-leader-check: " + waits, () -> waits.contains(TIMES.maxLeaderCheckNs()));
        } finally {
            over.countDown();
            poller.close();
        }
    }

    @Test
    void aLeaderWaitsAsLongAsIsSet() throws Exception {
        Thread leader = leadWithoutThePermit();
        Waits.until("it has left", () -> {
            clock.advance(Duration.ofNanos(50_000));
            return !leader.isAlive();
        });
        assertThat(waits).as("waits for the permit").contains(TIMES.leaderRestNs());
        permit.release();
        waits.clear();
        whileThePollerSleeps(() -> {
            sleepAtOnce();
            polling.poll(executor, null);
        });
        assertThat(waits).as("waits on the doorbell").contains(TIMES.leaderRestNs());
    }

    /** Starts a thread that leads while this one has the permit, and polling does not pay. */
    private Thread leadWithoutThePermit() {
        sleepAtOnce();
        assertThat(permit.tryAcquire()).isTrue();
        Thread leader = host.threads().start("leader", () -> polling.poll(executor, null));
        Waits.until("it leads", polling::isLed);
        return leader;
    }

    /** Polling has not paid. */
    private void sleepAtOnce() {
        turns.balance().lost(LONG.toNanos(), clock.monotonicNs());
        assertThat(turns.balance().sleepsAtOnce(clock.monotonicNs())).isTrue();
    }
}
