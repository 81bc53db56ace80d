package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Rings for workers of this process: which ones a thread keeps, and whether it polls for them or wakes their pollers. */
@Timeout(60)
class NeighbourRingsTest {

    private static final int MANY = 1000;

    @TempDir
    private Path directory;

    private final NeighbourRings rings = new NeighbourRings();
    private Home home;
    private Room a;
    private Room b;

    /** What polls for one worker: the test counts the polls in its place, and how often its poller was woken. */
    private final class Room implements Polled {

        private final AtomicInteger polls = new AtomicInteger();
        private final AtomicInteger wakes = new AtomicInteger();
        private final WorkerDirectory worker;
        private final PollContext context;
        private final WaitingCallers callers;
        private final Poller poller;
        private Runnable onPoll = () -> {};

        Room(String name) throws IOException {
            worker = home.join(name, JoinOptions.defaults());
            Threads real = Host.real().threads();
            Threads counting = new Threads() {
                @Override
                public Thread start(String role, Runnable body) {
                    return real.start(role, body);
                }

                @Override
                public void unpark(Thread thread) {
                    wakes.incrementAndGet();
                }
            };
            context = new PollContext(
                    name,
                    PollTimes.of(Waiting.BALANCED),
                    Host.real().withThreads(counting),
                    worker.cursors(),
                    worker.doorbell());
            context.turns.open(this);
            poller = new Poller(context);
            poller.begins(context.invocations.own()); // the thread of the test is the one that is woken
            callers = new WaitingCallers(context, poller);
            rings.add(worker.path(), callers, poller);
        }

        @Override
        public int poll() {
            polls.incrementAndGet();
            onPoll.run();
            return 0;
        }

        @Override
        public int pollAll() {
            return poll();
        }

        @Override
        public boolean mayHaveWork() {
            return false;
        }

        @Override
        public void readClock() {}

        boolean ring() {
            return NeighbourRings.keeps(worker.path());
        }

        void ringKept() {
            assertThat(ring()).as("the ring is kept").isTrue();
        }

        void assertDone(String when, int expectedPolls, int expectedWakes) {
            assertThat(polls).as("polls for %s %s", worker.info().name(), when).hasValue(expectedPolls);
            assertThat(wakes).as("wakes of %s %s", worker.info().name(), when).hasValue(expectedWakes);
        }

        void close() throws IOException {
            context.turns.close();
            worker.close();
        }
    }

    @BeforeEach
    void open() throws IOException {
        home = Home.open(directory.resolve("home"), Host.real());
        a = new Room("a");
        b = new Room("b");
    }

    @AfterEach
    void close() throws IOException {
        a.close();
        b.close();
    }

    @Test
    void aThreadPollsOnceForEachWorkerThatItRang() {
        assertThat(a.ring()).as("a ring outside of an action is kept").isFalse();
        rings.sendAndPoll(() -> {
            a.ringKept();
            a.ringKept();
            assertThat(NeighbourRings.keeps(directory.resolve("another")))
                    .as("the ring for a worker of another process is kept")
                    .isFalse();
            rings.sendAndPoll(b::ringKept);
            b.assertDone("before the outer action has ended", 0, 0);
        });
        a.assertDone("after two rings", 1, 0);
        b.assertDone("after the ring of the inner action", 1, 0);
        assertThat(a.ring()).as("a ring after the action is kept").isFalse();
    }

    @Test
    void anActionThatFailsLeavesNoRing() {
        assertThatThrownBy(
                        () -> rings.sendAndPoll(() -> {
                            a.ringKept();
                            throw new IllegalStateException("planted");
                        }),
                        "the action")
                .hasMessage("planted");
        a.assertDone("after the failure", 1, 0);
        assertThat(b.ring()).as("a ring after the failure is kept").isFalse();
    }

    @Test
    void aWorkerThatAnotherThreadPollsForIsWokenAlsoAfterAPollThatFailed() throws Exception {
        CountDownLatch holds = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Thread holder = Host.real().threads().start("holds", () -> {
            assertThat(a.context.permit().tryAcquire()).isTrue();
            holds.countDown();
            try {
                release.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            a.context.permit().release();
        });
        holds.await();
        b.onPoll = () -> {
            throw new StackOverflowError("planted");
        };
        rings.sendAndPoll(() -> {
            b.ringKept();
            a.ringKept();
        });
        release.countDown();
        holder.join();
        a.assertDone("while another thread polls for it", 0, 1);
        b.assertDone("after its poll has failed", 1, 0);
        assertThat(b.context.permit().isFree())
                .as("the permit is free after the failure")
                .isTrue();
    }

    @Test
    void workersThatSendEachOtherMessagesDoNotOccupyTheThread() {
        a.onPoll = () -> {
            if (a.polls.get() < MANY) {
                b.ringKept();
            }
        };
        b.onPoll = a::ringKept;
        rings.sendAndPoll(a::ringKept);
        assertThat(a.polls.get() + b.polls.get()).as("polls for both").isBetween(2, MANY / 2);
        assertThat(a.wakes.get() + b.wakes.get()).as("wakes for the last ring").isEqualTo(1);
    }

    @Test
    void aThreadThatIsAboutToWaitWakesTheWorkersThatItRang() {
        NeighbourRings.passOn(); // nothing is kept
        rings.sendAndPoll(() -> {
            a.ringKept();
            b.callers.await(new WaitCondition() {
                @Override
                public boolean isMet() {
                    a.assertDone("when the thread waits", 0, 1);
                    return true;
                }

                @Override
                public void park(long maxNs) {}
            });
            b.ringKept();
        });
        a.assertDone("after the action", 0, 1);
        b.assertDone("after a ring that followed the wait", 1, 0);
    }

    @Test
    void noRingIsKeptForAWorkerThatHasLeftUnlessAnotherOneHasItsDirectory() {
        rings.remove(a.worker.path(), b.callers);
        rings.sendAndPoll(a::ringKept);
        a.assertDone("after another one at its directory was removed", 1, 0);
        rings.remove(a.worker.path(), a.callers);
        rings.sendAndPoll(() -> assertThat(a.ring())
                .as("the ring for a worker that left is kept")
                .isFalse());
        a.assertDone("after it has left", 1, 0);
    }
}
