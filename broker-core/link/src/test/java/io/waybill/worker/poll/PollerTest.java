package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Clock;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.concurrent.AgentTerminationException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The background poller, with something to poll that misbehaves. */
@Timeout(60)
class PollerTest {

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private volatile Runnable onClock = () -> {};
    private WorkerDirectory worker;
    private PollPermit permit;
    private HandlerSlots slots;
    private PollTurns turns;
    private Poller poller;

    /** Throws an error when the poller reads the clock before it sleeps, the first few times. */
    private static final class Failing implements Polled {
        @Override
        public boolean mayHaveWork() {
            return false;
        }

        private final CountDownLatch errors = new CountDownLatch(3);
        private final CountDownLatch polledAfterwards = new CountDownLatch(1);

        @Override
        public int poll() {
            if (errors.getCount() == 0) {
                polledAfterwards.countDown();
            }
            return 0;
        }

        @Override
        public int pollAll() {
            return poll();
        }

        @Override
        public void readClock() {
            if (errors.getCount() > 0) {
                errors.countDown();
                if (errors.getCount() == 1) { // it ends agents: but not when foreign code throws it
                    throw new AgentTerminationException("planted");
                }
                throw new StackOverflowError("planted");
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @BeforeEach
    void join() throws IOException {
        worker = Home.open(directory.resolve("home"), host).join("a", JoinOptions.defaults());
        Clock clock = new ForwardingClock(host.clock()) {
            @Override
            public long bootNs() {
                onClock.run();
                return super.bootNs();
            }
        };
        PollContext context = new PollContext(
                "a", PollTimes.of(Waiting.BALANCED), host.withClock(clock), worker.cursors(), worker.doorbell());
        permit = context.permit();
        slots = context.invocations();
        turns = context.turns;
        poller = new Poller(context);
    }

    @AfterEach
    void leave() throws IOException {
        poller.close();
        worker.close();
    }

    @Test
    void givesThePermitBackAndGoesOnAfterAnError() throws Exception {
        Failing failing = new Failing();
        poller.start(failing);
        assertThat(failing.errors.await(10, TimeUnit.SECONDS))
                .as("whether the poller goes on after an error and has the permit again")
                .isTrue();
        assertThat(failing.polledAfterwards.await(10, TimeUnit.SECONDS))
                .as("whether the poller polls after the last error")
                .isTrue();
    }

    /**
     * A handler that does not return, in the last look before a sleep. Another thread then sleeps in its place, and stays asleep until the test
     * has looked.
     */
    private final class HeldBeforeSleep implements Polled {
        @Override
        public boolean mayHaveWork() {
            return false;
        }

        private final CountDownLatch held = new CountDownLatch(1);
        private final CountDownLatch hold = new CountDownLatch(1);
        private final CountDownLatch looked = new CountDownLatch(1);
        private final CountDownLatch otherSleeps = new CountDownLatch(1);
        private volatile Thread first;
        private volatile boolean otherLooked;

        @Override
        public int poll() {
            return 0;
        }

        @Override
        public int pollAll() {
            if (first == null) {
                first = Thread.currentThread();
                return serve();
            }
            if (first != Thread.currentThread()) {
                otherLooked = true;
                otherSleeps.countDown();
            }
            return 0;
        }

        private int serve() {
            HandlerSlot slot = slots.own();
            slot.beginInline();
            permit.release();
            held.countDown();
            await(hold);
            slot.endInline();
            return permit.tryAcquire() ? 1 : Polled.PERMIT_LOST;
        }

        @Override
        public void readClock() {
            if (otherLooked && first != Thread.currentThread()) { // it woke up: the mark stays as it is
                await(looked);
            }
        }
    }

    /** There is never anything to poll. */
    private static class Silent implements Polled {
        @Override
        public boolean mayHaveWork() {
            return false;
        }

        @Override
        public int poll() {
            return 0;
        }

        @Override
        public int pollAll() {
            return 0;
        }

        @Override
        public void readClock() {}
    }

    @Test
    void restoresTheRingsOfACallerThatIsCaughtInAHandler() {
        poller.start(new Silent());
        Waits.until("the poller sleeps, and its rings are diverted", poller::tryDivertRings);
        poller.relieve();
        poller.relieve();
        assertThat(poller.hasRings())
                .as("whether a caller that is in no handler keeps them")
                .isTrue();
        assertThat(poller.isInForeignCode()).isFalse();
        slots.own().beginInline();
        assertThat(poller.isInForeignCode()).isTrue();
        poller.relieve();
        assertThat(poller.hasRings())
                .as("whether a handler may take as long as one look")
                .isTrue();
        poller.relieve();
        assertThat(poller.hasRings())
                .as("whether a caller in the same handler at two looks keeps them")
                .isFalse();
        slots.own().endInline();
        assertThat(poller.isInForeignCode()).isFalse();
        Waits.until("this thread has the permit", permit::tryAcquire);
        long number = permit.enterForeign();
        assertThat(poller.isInForeignCode()).as("inside a listener").isTrue();
        permit.leaveForeign(number);
        permit.release();
        poller.restoreRings(false);
        Waits.until("the poller sleeps again, and its rings are diverted again", poller::tryDivertRings);
        poller.restoreRings(true);
    }

    @Test
    void reportsTheNextMessagesOnceAndNoSleepThatNothingEnded() throws Exception {
        CountDownLatch sleeps = new CountDownLatch(4);
        poller.start(new Silent() {
            @Override
            public int pollAll() {
                sleeps.countDown(); // before each sleep
                return 0;
            }
        });
        AtomicInteger reported = new AtomicInteger();
        CountDownLatch first = new CountDownLatch(1);
        assertThat(poller.onMessages(() -> {
                    reported.incrementAndGet();
                    first.countDown();
                }))
                .isTrue();
        assertThat(sleeps.await(30, TimeUnit.SECONDS)).as("four sleeps").isTrue();
        assertThat(reported).as("reports after sleeps that nothing ended").hasValue(0);

        worker.doorbell().ring();
        assertThat(first.await(30, TimeUnit.SECONDS))
                .as("whether a message that came is reported")
                .isTrue();
        worker.doorbell().ring();
        poller.onDeadline(0);
        assertThat(reported).as("reports of several messages").hasValue(1);

        poller.onMessages(reported::incrementAndGet);
        poller.onDeadline(0);
        assertThat(reported).as("reports with a message that was sent, too").hasValue(2);

        poller.onMessages(reported::incrementAndGet);
        Waits.until("this thread sleeps in the poller's place", poller::tryDivertRings);
        worker.doorbell().ring();
        assertThat(poller.awaitRing(TimeUnit.SECONDS.toNanos(30))).isTrue();
        poller.restoreRings(true);
        assertThat(reported).as("reports with one that came meanwhile, too").hasValue(3);
    }

    @Test
    void sendsACallAlthoughAnEarlierFaultSurfacesInTheReport() {
        AtomicInteger runs = new AtomicInteger();
        poller.onMessages(() -> {
            if (runs.incrementAndGet() == 1) {
                throw new InternalError("planted");
            }
        });
        assertThatCode(() -> poller.onDeadline(0))
                .as("a call whose request is on record already, when the report of it fails")
                .doesNotThrowAnyException();
        assertThat(runs).as("runs of a report whose first one failed").hasValue(2);
    }

    /** A caller begins while the poller polls, and has left when that is about to sleep and leave polling to it. Notes what is done after that. */
    private final class LeftByCaller implements Polled {
        @Override
        public boolean mayHaveWork() {
            return false;
        }

        private final BlockingQueue<String> done = new LinkedBlockingQueue<>();
        private boolean begun; // by the poller's thread, as the next
        private boolean left;

        private void note(String what) {
            if (left) {
                done.add(what);
            }
        }

        private void leave() {
            if (begun && !left) {
                left = true;
                turns.callerEnds();
            }
        }

        @Override
        public int poll() {
            note("poll");
            if (!begun) {
                onClock = this::leave;
                begun = true;
                turns.callerBegins();
            }
            return 0;
        }

        @Override
        public int pollAll() {
            note("poll all");
            return 0;
        }

        @Override
        public void readClock() {
            note("awake again");
        }
    }

    @Test
    void readsWhatCameWithoutARingWhenTheCallersLeftBeforeItSlept() throws Exception {
        LeftByCaller polled = new LeftByCaller();
        poller.start(polled);
        assertThat(polled.done.poll(30, TimeUnit.SECONDS))
                .as("what a poller does first that sleeps in place of polling callers, which have left")
                .isEqualTo("poll all");
    }

    @Test
    void isWokenByTheHousekeeperWhileTheThreadThatTookItsTurnDoesSomethingElse() {
        turns.sleepUntil(Long.MAX_VALUE);
        worker.cursors().markAsleep(Long.MAX_VALUE);
        poller.relieve();
        assertThat(worker.doorbell().await(1)).as("a wake-up while peers ring").isFalse();

        assertThat(permit.tryAcquire()).isTrue();
        worker.cursors().markPolled(); // as at the begin of a turn
        permit.release(); // for the time of a handler
        poller.relieve();
        assertThat(worker.doorbell().await(TimeUnit.SECONDS.toNanos(5)))
                .as("whether the sleeping poller is woken while no thread has the permit and no peer rings")
                .isTrue();
        assertThat(turns.takeUnattended()).isTrue();
    }

    @Test
    void leavesTheMarkOfTheThreadThatSleepsInItsPlace() throws Exception {
        HeldBeforeSleep polled = new HeldBeforeSleep();
        poller.start(polled);
        try {
            polled.held.await();
            Waits.until("another thread sleeps", () -> {
                poller.relieve();
                return polled.otherSleeps.getCount() == 0 && permit.isFree();
            });
            polled.hold.countDown();
            Waits.until("the first thread has ended", () -> !polled.first.isAlive());
            PeerCursors seen = PeerCursors.open(worker.path(), worker.id(), host.files());
            assertThat(seen.isAsleepAfterFence())
                    .as("whether peers ring for the thread that sleeps")
                    .isTrue();
        } finally {
            polled.hold.countDown();
            polled.looked.countDown();
        }
    }
}
