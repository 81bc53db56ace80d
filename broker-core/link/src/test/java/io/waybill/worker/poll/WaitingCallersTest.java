package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.exchange.CallOrigin;
import io.waybill.exchange.HandlerCall;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Threads that wait, and poll meanwhile: what ends the wait, who has the permit afterwards, and where a thread must not wait. */
@Timeout(60)
class WaitingCallersTest {

    private static final long REQUEST = MessageId.of(3, 77);

    @TempDir
    private Path directory;

    private final AtomicInteger polls = new AtomicInteger();
    private volatile IntSupplier found = () -> 0;
    private WorkerDirectory worker;
    private PollContext context;
    private PollPermit permit;
    private WaitingCallers waiting;

    @BeforeEach
    void open() throws IOException {
        Host host = Host.real();
        worker = Home.open(directory.resolve("home"), host).join("a", JoinOptions.defaults());
        open(Waiting.BALANCED);
    }

    private void open(Waiting how) {
        context = new PollContext("a", PollTimes.of(how), Host.real(), worker.cursors(), worker.doorbell());
        permit = context.permit();
        context.turns.open(new Polled() {
            @Override
            public int poll() {
                polls.incrementAndGet();
                return found.getAsInt();
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
        });
        waiting = new WaitingCallers(context, new Poller(context));
    }

    @AfterEach
    void close() throws IOException {
        context.turns.close();
        worker.close();
    }

    private static WaitCondition until(BooleanSupplier met) {
        return new WaitCondition() {
            @Override
            public boolean isMet() {
                return met.getAsBoolean();
            }

            @Override
            public void park(long maxNs) {
                LockSupport.parkNanos(maxNs);
            }
        };
    }

    /** Has a thread of its own take the permit. Returns what has it given back. */
    private Runnable taken() throws InterruptedException {
        CountDownLatch holds = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Thread holder = Host.real().threads().start("holds", () -> {
            Waits.until("the permit is free", permit::tryAcquire);
            holds.countDown();
            try {
                release.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            permit.release();
        });
        holds.await();
        return () -> {
            release.countDown();
            try {
                holder.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        };
    }

    /** A request whose handler a thread is inside of. */
    private record Handled() implements HandlerCall {
        @Override
        public long sequence() {
            return 1;
        }

        @Override
        public HandlerEntry entry() {
            return null;
        }

        @Override
        public long id() {
            return REQUEST;
        }

        @Override
        public long deadlineNs() {
            return 0;
        }

        @Override
        public void abandon(long sequence) {}
    }

    @Test
    void aCallerPollsUntilItsOutcomeIsThereAndLeavesThePermit() {
        found = () -> 1;
        waiting.await(until(() -> polls.get() >= 100));
        assertThat(polls).as("polls of the caller").hasValue(100);
        assertThat(permit.isFree()).as("the permit is free").isTrue();
        assertThat(context.turns.callersPoll()).as("a caller counts as polling").isFalse();
    }

    @Test
    void aCallerWaitsForWhatAnotherThreadCompletesWithoutAPollOfItsOwn() throws Exception {
        Runnable release = taken();
        AtomicBoolean met = new AtomicBoolean();
        Thread waits = Host.real().threads().start("waits", () -> waiting.await(until(met::get)));
        Waits.until("it is parked", () -> waits.getState() == Thread.State.TIMED_WAITING);
        met.set(true);
        waits.join();
        assertThat(polls).as("polls while another thread has the permit").hasValue(0);
        release.run();
        assertThat(permit.isFree()).as("the permit is free").isTrue();
    }

    @Test
    void aCallerThatLosesThePermitInAPollLeavesItToItsNewHolder() throws Exception {
        AtomicReference<Runnable> release = new AtomicReference<>();
        found = () -> {
            permit.release(); // as the housekeeper does in the place of a thread in a listener
            try {
                release.set(taken());
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return Polled.PERMIT_LOST;
        };
        waiting.await(until(() -> polls.get() > 0));
        assertThat(polls).as("polls of the caller").hasValue(1);
        assertThat(permit.isFree())
                .as("the permit of another thread was released")
                .isFalse();
        release.get().run();
        assertThat(context.turns.callersPoll()).as("a caller counts as polling").isFalse();
    }

    @Test
    void anErrorOfAPollEndsNoWait() {
        open(Waiting.SPIN); // there is no poller that polls for a caller that sleeps
        found = () -> {
            if (polls.get() < 3) {
                throw new StackOverflowError("planted");
            }
            return 1;
        };
        waiting.await(until(() -> polls.get() >= 3));
        assertThat(permit.isFree()).as("the permit is free").isTrue();
    }

    @Test
    void anInterruptIsKeptForAfterTheOutcomeAndEndsTheWaitForAFuture() throws Exception {
        AtomicBoolean met = new AtomicBoolean();
        AtomicBoolean kept = new AtomicBoolean();
        Thread waits = Host.real().threads().start("waits", () -> {
            waiting.await(until(met::get));
            kept.set(Thread.currentThread().isInterrupted());
        });
        waits.interrupt();
        Waits.until("it is parked", () -> waits.getState() == Thread.State.TIMED_WAITING);
        met.set(true);
        waits.join();
        assertThat(kept).as("the thread is interrupted after the outcome").isTrue();

        CompletableFuture<String> never = new CompletableFuture<>();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> waiting.await(never), "the wait for a future")
                .isInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).as("the interrupt, which was thrown").isFalse();
        Thread.currentThread().interrupt();
        waiting.await(CompletableFuture.completedFuture("done"));
        assertThat(Thread.interrupted())
                .as("the interrupt after a future that was done")
                .isTrue();
    }

    @Test
    void aThreadMustNotWaitWhileItPollsOrIsInAHandlerThatMustNotBlock() {
        assertThat(waiting.isInside()).as("a thread of the program is inside").isFalse();
        HandlerSlot slot = context.invocations.own();
        HandlerCall request = new Handled();
        HandlerCall before = slot.enter(request);
        assertThat(waiting.mayBlock())
                .as("a handler on a thread of its own may wait")
                .isTrue();
        assertThat(waiting.isInside()).as("a handler is inside").isTrue();
        assertThat(waiting.origin()).as("the origin of its calls").isSameAs(request);
        slot.beginInline();
        assertThatThrownBy(waiting::requireMayBlock, "a wait in a non-blocking handler")
                .isInstanceOf(IllegalStateException.class);
        slot.endInline();
        assertThat(permit.tryAcquire()).isTrue();
        assertThatThrownBy(waiting::requireMayBlock, "a wait while it polls").isInstanceOf(IllegalStateException.class);
        assertThat(waiting.origin()).as("the origin of a call by a listener").isSameAs(CallOrigin.PROGRAM);
        permit.release();
        slot.leave(before);
        assertThat(waiting.isInside()).as("it is inside after the handler").isFalse();
    }

    @Test
    void aCheckRunsOnlyWhileNoThreadPollsAndLeavesThePermitAlsoWhenItThrows() throws Exception {
        AtomicInteger checks = new AtomicInteger();
        Runnable release = taken();
        assertThat(waiting.whileNotPolling(checks::incrementAndGet))
                .as("it ran while another thread polls")
                .isFalse();
        assertThat(waiting.pollInPlace())
                .as("it polled while another thread polls")
                .isFalse();
        release.run();
        assertThat(checks).as("checks while another thread polls").hasValue(0);
        assertThat(waiting.whileNotPolling(() -> {
                    assertThat(permit.isMine()).as("no other thread may poll").isTrue();
                    checks.incrementAndGet();
                }))
                .as("it ran")
                .isTrue();
        assertThat(checks).as("checks").hasValue(1);
        assertThat(waiting.whileNotPolling(() -> {
                    throw new InternalError("planted");
                }))
                .as("a check that throws ran")
                .isFalse();
        assertThat(permit.isFree()).as("the permit is free").isTrue();
        assertThat(context.turns.callersPoll()).as("a caller counts as polling").isFalse();
    }
}
