package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class PollTurnsTest {

    @TempDir
    private Path directory;

    private final PollPermit permit = new PollPermit(new FaultAlarm(new Threads() {
        @Override
        public Thread start(String name, Runnable body) {
            return Host.real().threads().start(name, body);
        }

        @Override
        public void unpark(Thread thread) {
            released.run();
        }
    }));
    private Runnable released = () -> {}; // where a thread waits for the permit
    private final Scripted polled = new Scripted();
    private WorkerDirectory worker;
    private PollTurns turns;

    /** Finds what it is told to find, poll by poll. */
    private static final class Scripted implements Polled {
        @Override
        public boolean mayHaveWork() {
            return false;
        }

        private final Deque<Integer> found = new ArrayDeque<>();
        private Runnable meanwhile = () -> {};

        @Override
        public int poll() {
            meanwhile.run();
            return found.isEmpty() ? 0 : found.pop();
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
        worker = Home.open(directory.resolve("home"), Host.real()).join("a", JoinOptions.defaults());
        turns = turns(PollTimes.of(Waiting.BALANCED));
    }

    private PollTurns turns(PollTimes times) {
        PollTurns made = new PollTurns(
                "a", permit, worker.cursors(), new FaultAlarm(Host.real().threads()), times);
        made.open(polled);
        return made;
    }

    @AfterEach
    void leave() throws IOException {
        worker.close();
    }

    private void takeTurn() {
        assertThat(permit.tryAcquire()).isTrue();
        turns.beginTurn();
    }

    @Test
    void onlyTheThreadThatSleepsEndsItsSleep() throws InterruptedException {
        Thread sleeper = Host.real().threads().start("sleeper", () -> turns.sleepUntil(Long.MAX_VALUE));
        sleeper.join();
        assertThat(turns.wakeUp()).isFalse();
        assertThat(turns.isSleeping()).isTrue();
        turns.sleepUntil(Long.MAX_VALUE);
        assertThat(turns.wakeUp()).isTrue();
        assertThat(turns.isSleeping()).isFalse();
    }

    @Test
    void noPeerRingsForACallerThatIsAboutToSendUnlessItSendsNothing() {
        turns.sleepUntil(Long.MAX_VALUE);
        worker.cursors().markAsleep();
        assertThat(turns.tryBegin()).isTrue();
        assertThat(worker.cursors().isMarkedAsleep())
                .as("peers ring before the caller polls")
                .isFalse();

        turns.callerEnds();
        assertThat(worker.cursors().isMarkedAsleep())
                .as("peers ring for the poller again")
                .isTrue();
        assertThat(permit.isFree()).isTrue();
    }

    @Test
    void aCallerBeginsNothingWhereAnotherThreadPolls() {
        assertThat(turns.tryBegin()).as("no poller sleeps").isFalse();
        turns.sleepUntil(Long.MAX_VALUE);
        takeTurn();
        assertThat(turns.tryBegin()).as("another caller has its turn").isFalse();
        assertThat(turns.callersPoll()).isFalse();
    }

    @Test
    void aCallerReadsAllThatHadNoBellBeforeItLeaves() {
        turns.sleepUntil(Long.MAX_VALUE);
        takeTurn();
        polled.found.addAll(List.of(64, 64, 64, 8));

        turns.endTurn();
        assertThat(polled.found)
                .as("polls that found something, of requests whose senders saw a worker that polls")
                .isEmpty();
        assertThat(permit.isFree()).isTrue();
    }

    @Test
    void aCallerLeavesTheRestToAPollerThatWasWoken() {
        turns.sleepUntil(Long.MAX_VALUE);
        takeTurn();
        polled.found.addAll(List.of(64, 64, 64));
        polled.meanwhile = turns::wakeUp;

        turns.endTurn();
        assertThat(polled.found).hasSize(2);
        assertThat(permit.isFree()).isTrue();
    }

    @Test
    void aCallerReadsForAPollerThatFallsAsleepAtTheEndOfItsTurn() throws InterruptedException {
        takeTurn();
        Thread waiting = Host.real().threads().start("waiting", permit::tryAcquireOrWait);
        waiting.join();
        released = () -> turns.sleepUntil(Long.MAX_VALUE); // it saw that the permit was not free
        polled.found.addAll(List.of(64, 8));

        turns.endTurn();
        assertThat(polled.found)
                .as("polls that found something, of records whose senders saw a worker that polls")
                .isEmpty();
        assertThat(worker.cursors().isMarkedAsleep())
                .as("whether peers ring from now on")
                .isTrue();
        assertThat(permit.isFree()).isTrue();
    }

    @Test
    void aCallerDoesNotPollForAPollerThatIsAwake() {
        takeTurn();
        polled.found.add(64);

        turns.endTurn();
        assertThat(polled.found).hasSize(1);
        assertThat(permit.isFree()).isTrue();
    }

    @Test
    void aCallerWhosePermitWentToAnotherThreadLeavesItThere() {
        turns.sleepUntil(Long.MAX_VALUE);
        takeTurn();
        polled.found.addAll(List.of(64, Polled.PERMIT_LOST, 64));

        turns.endTurn();
        assertThat(polled.found).hasSize(1);
        assertThat(permit.isFree())
                .as("whether it was released in another's place")
                .isFalse();
    }

    @Test
    void theLastCallerReadsForASleeperWhatNoPeerRangForAlthoughItTookNoTurn() {
        turns.callerBegins();
        turns.callerBegins();
        assertThat(permit.tryAcquire()).isTrue();
        turns.sleepUntil(Long.MAX_VALUE); // as the poller does that leaves polling to them
        permit.release();
        polled.found.addAll(List.of(64, 8));

        turns.callerEnds();
        assertThat(polled.found).as("polls while another caller is there").hasSize(2);
        turns.callerEnds();
        assertThat(polled.found)
                .as("polls that found something, of records whose senders saw a worker that polls")
                .isEmpty();
        assertThat(worker.cursors().isMarkedAsleep())
                .as("whether peers ring from now on")
                .isTrue();
        assertThat(permit.isFree()).isTrue();
    }

    @Test
    void aSleeperReadsByItselfWhenTheCallersLeftBeforeItSlept() {
        turns.sleepUntil(Long.MAX_VALUE);
        polled.found.add(8);
        turns.attend();
        assertThat(polled.found).isEmpty();
        assertThat(worker.cursors().isMarkedAsleep()).isTrue();
    }

    @Test
    void isUnattendedWhileAThreadThatTookTheTurnDoesSomethingElse() {
        turns.sleepUntil(Long.MAX_VALUE);
        worker.cursors().markAsleep(Long.MAX_VALUE);
        assertThat(turns.isUnattended()).isFalse();
        takeTurn();
        assertThat(turns.isUnattended()).isFalse();
        permit.release(); // for the time of a handler
        assertThat(turns.isUnattended()).isTrue();
    }

    /** An error of any kind: what ends a turn must not keep the permit. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void givesThePermitBackWhenAnErrorEndsATurn(boolean sleeping) {
        if (sleeping) {
            turns.sleepUntil(Long.MAX_VALUE);
        }
        takeTurn();
        turns.stopAfter(new StackOverflowError("planted"));
        assertThat(permit.isFree()).as("whether the permit was given back").isTrue();
    }

    @Test
    void readsWhatHadNoBellWhenAnErrorEndsATurn() {
        turns.sleepUntil(Long.MAX_VALUE);
        takeTurn();
        polled.found.addAll(List.of(64, 8));
        turns.stopAfter(new StackOverflowError("planted"));
        assertThat(polled.found)
                .as("polls that found something, of records whose senders saw a worker that polls")
                .isEmpty();
        assertThat(worker.cursors().isMarkedAsleep())
                .as("whether peers ring from now on")
                .isTrue();
        assertThat(permit.isFree()).isTrue();
    }

    @Test
    void givesThePermitBackWhenAPollEndsByAnError() {
        turns.sleepUntil(Long.MAX_VALUE);
        takeTurn();
        polled.meanwhile = () -> {
            throw new StackOverflowError("planted");
        };
        turns.endTurn();
        assertThat(permit.isFree()).as("whether the permit was given back").isTrue();
    }

    @Test
    void saysThatThePermitIsLostWhenAnErrorCameBehindIt() {
        takeTurn();
        polled.meanwhile = () -> {
            permit.release();
            throw new StackOverflowError("planted");
        };
        assertThat(turns.poll()).isEqualTo(Polled.PERMIT_LOST);
    }

    @Test
    void takesThePermitFromAThreadThatTheSameListenerKeepsForTooLong() {
        takeTurn();
        long first = permit.enterForeign();
        turns.relieve(0);
        turns.relieve(99_999_999);
        assertThat(permit.isFree()).as("whether it was taken early").isFalse();
        assertThat(permit.leaveForeign(first)).isTrue();

        long second = permit.enterForeign();
        turns.relieve(100_000_000); // another call of a listener: its time begins here
        turns.relieve(199_999_999);
        assertThat(permit.isFree()).as("whether it was taken early").isFalse();
        turns.relieve(200_000_000);
        assertThat(permit.isFree())
                .as("whether it was taken after 100 ms in one listener")
                .isTrue();
        assertThat(permit.leaveForeign(second))
                .as("whether the thread still has it")
                .isFalse();
    }

    @Test
    void takesThePermitFromAListenerAfterTheTimeThatIsSet() {
        PollTimes d = PollTimes.of(Waiting.BALANCED);
        turns = turns(new PollTimes(
                d.waiting(),
                d.spin(),
                d.callerSpin(),
                d.leaderRestNs(),
                d.leaderCheckNs(),
                d.maxLeaderCheckNs(),
                d.maxSleepNs(),
                d.maxIdleSleepNs(),
                d.attemptNs(),
                d.restNs(),
                d.maxRestNs(),
                7_000_000));
        takeTurn();
        permit.enterForeign();
        turns.relieve(0);
        turns.relieve(6_999_999);
        assertThat(permit.isFree()).as("whether it was taken early").isFalse();
        turns.relieve(7_000_000);
        assertThat(permit.isFree()).as("whether it was taken after 7 ms").isTrue();
    }
}
