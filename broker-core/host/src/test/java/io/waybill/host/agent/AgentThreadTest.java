package io.waybill.host.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class AgentThreadTest {

    private static final long HOUR_NS = TimeUnit.HOURS.toNanos(1);

    private final Host host = Host.real();
    private final ParkingIdleStrategy idle = new ParkingIdleStrategy(host.clock(), host.threads());
    private final AtomicInteger cycles = new AtomicInteger();
    private final List<String> closedBy = new CopyOnWriteArrayList<>();
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();
    private AgentThread thread;

    @AfterEach
    void end() {
        if (thread != null) {
            thread.close();
        }
    }

    @Test
    void restsAsLongAsTheAgentSaysAndWakesBefore() {
        start(() -> {
            idle.rest(HOUR_NS);
            return 0;
        });
        await(1);
        assertThat(thread.join(50_000_000)).isFalse();
        assertThat(cycles).hasValue(1);
        idle.wake();
        await(2);
    }

    @Test
    void goesOnAfterAnErrorBetweenDutyCycles() {
        AtomicInteger runs = new AtomicInteger();
        AgentThread.runUntilItReturns(
                () -> {
                    if (runs.incrementAndGet() < 3) {
                        throw new InternalError("a fault occurred in a recent unsafe memory access operation");
                    }
                },
                failures::add);
        assertThat(runs).hasValue(3);
        assertThat(failures).hasSize(2).allMatch(InternalError.class::isInstance);
    }

    @Test
    void beginsNoDutyCycleWithAnInterrupt() {
        AtomicInteger interrupted = new AtomicInteger();
        start(() -> {
            interrupted.addAndGet(Thread.currentThread().isInterrupted() ? 1 : 0);
            Thread.currentThread().interrupt();
            return 1;
        });
        await(10);
        assertThat(interrupted).as("duty cycles that began with an interrupt").hasValue(0);
    }

    @Test
    void startsWhenTheHostGivesItsThreadLate() {
        Host refusing = refusing(2);
        thread = new AgentThread("late", agent(() -> 0), idle);
        thread.startWhenPossible(refusing.threads());
        assertThat(refusing.threads().late()).isEqualTo(1);
        refusing.threads().retry();
        assertThat(refusing.threads().late()).isEqualTo(1);
        assertThat(cycles).hasValue(0);
        refusing.threads().retry();
        assertThat(refusing.threads().late()).isZero();
        await(1);
    }

    @Test
    void neverStartsWhenItWasClosedBefore() {
        Host refusing = refusing(1);
        AgentThread closed = new AgentThread("late", agent(() -> 0), idle);
        closed.startWhenPossible(refusing.threads());
        closed.close();
        assertThat(closedBy).containsExactly(Thread.currentThread().getName());
        refusing.threads().retry();

        AtomicInteger after = new AtomicInteger();
        refusing.threads().start("after", after::incrementAndGet);
        Waits.until("a thread that was started later has run", () -> after.get() == 1);
        assertThat(cycles).hasValue(0);
        assertThat(closedBy).hasSize(1);
    }

    @Test
    void saysWhatToDoWhenTheHostRefusesIt() {
        assertThatThrownBy(() -> new AgentThread("role", agent(() -> 0), idle)
                        .start(refusing(1).threads()))
                .isInstanceOf(Threads.RefusedException.class)
                .hasMessage("no thread for role: the host refused it (java.lang.OutOfMemoryError: made by the test);"
                        + " raise the limit of threads (ulimit -u, TasksMax, or pids.max of the container)");
    }

    private Host refusing(int times) {
        AtomicInteger left = new AtomicInteger(times);
        return host.withThreads((name, body) -> {
            if (left.getAndDecrement() > 0) {
                throw new OutOfMemoryError("made by the test");
            }
            return host.threads().start(name, body);
        });
    }

    @Test
    void doesNotRestWhileThereIsWork() {
        start(() -> {
            idle.rest(HOUR_NS);
            return cycles.get() < 1_000 ? 1 : 0;
        });
        await(1_000);
    }

    @Test
    void doesNotLoseAWakeUpDuringADutyCycle() throws InterruptedException {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch woken = new CountDownLatch(1);
        start(() -> {
            idle.rest(HOUR_NS);
            inside.countDown();
            awaitQuietly(woken);
            return 0;
        });
        inside.await();
        idle.wake();
        woken.countDown();
        await(2);
    }

    @Test
    void retriesWhateverADutyCycleThrows() {
        start(() -> {
            switch (cycles.get()) {
                case 1 -> throw new IllegalStateException("first");
                case 2 -> throw new StackOverflowError("second");
                case 3 -> throw new InternalError("third");
                default -> idle.rest(HOUR_NS);
            }
            return 0;
        });
        await(4);
        assertThat(thread.failures()).isEqualTo(3);
        assertThat(failures).extracting(Throwable::getMessage).containsExactly("first", "second", "third");
    }

    @Test
    void survivesAnErrorHandlerThatThrows() {
        thread = new AgentThread("agent-under-test", agent(this::failAtFirst), idle, e -> {
            throw new IllegalStateException("in the handler");
        });
        thread.start(host.threads());
        await(2);
    }

    @Test
    void retriesWhateverAWaitThrows() {
        AtomicInteger waits = new AtomicInteger();
        WakeableIdleStrategy failing = new WakeableIdleStrategy() {
            @Override
            public void rest(long maxNs) {
                idle.rest(0);
            }

            @Override
            public void wake() {
                idle.wake();
            }

            @Override
            public void idle() {
                switch (waits.incrementAndGet()) {
                    case 1 -> throw new IllegalStateException("first");
                    case 2 -> throw new InternalError("second");
                    default -> idle.idle();
                }
            }

            @Override
            public void reset() {
                idle.reset();
            }
        };
        thread = new AgentThread("agent-under-test", agent(() -> 0), failing, failures::add);
        thread.start(host.threads());
        await(4);
        assertThat(thread.failures()).isEqualTo(2);
        assertThat(failures).extracting(Throwable::getMessage).containsExactly("first", "second");
    }

    private int failAtFirst() {
        if (cycles.get() == 1) {
            throw new IllegalStateException("first");
        }
        return 0;
    }

    @Test
    void survivesInterruptsAndStillParks() {
        start(() -> {
            Thread.currentThread().interrupt();
            idle.rest(HOUR_NS);
            return 0;
        });
        await(1);
        assertThat(thread.join(50_000_000)).isFalse();
        assertThat(cycles).hasValue(1);
        idle.wake();
        await(2);
    }

    @Test
    void endsWhenTheAgentTerminatesItself() {
        start(() -> {
            throw new AgentTerminationException(true);
        });
        assertThat(thread.join(HOUR_NS)).isTrue();
        assertThat(closedBy).containsExactly("agent-under-test");
    }

    @Test
    void closesTheAgentOnItsThread() {
        start(() -> {
            idle.rest(HOUR_NS);
            return 0;
        });
        await(1);
        thread.close();
        assertThat(closedBy).containsExactly("agent-under-test");
        thread.close();
        assertThat(closedBy).hasSize(1);
    }

    @Test
    void closesAnAgentThatWasNeverStarted() {
        thread = new AgentThread("agent-under-test", agent(() -> 0), idle);
        thread.close();
        assertThat(closedBy).containsExactly(Thread.currentThread().getName());
    }

    @Test
    void keepsTheInterruptOfTheThreadThatCloses() {
        start(() -> {
            idle.rest(HOUR_NS);
            return 0;
        });
        await(1);
        Thread.currentThread().interrupt();
        thread.close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(closedBy).containsExactly("agent-under-test");
    }

    @Test
    void givesUpJoiningInTime() {
        CountDownLatch end = new CountDownLatch(1);
        start(() -> {
            awaitQuietly(end);
            return 0;
        });
        await(1);
        thread.stop();
        assertThat(thread.join(20_000_000)).isFalse();
        end.countDown();
        assertThat(thread.join(HOUR_NS)).isTrue();
    }

    private void start(IntSupplier cycle) {
        thread = new AgentThread("agent-under-test", agent(cycle), idle, failures::add);
        thread.start(host.threads());
    }

    private Agent agent(IntSupplier cycle) {
        return new Agent() {
            @Override
            public int doWork() {
                cycles.incrementAndGet();
                return cycle.getAsInt();
            }

            @Override
            public void onClose() {
                closedBy.add(Thread.currentThread().getName());
            }

            @Override
            public String roleName() {
                return "under-test";
            }
        };
    }

    private void await(int count) {
        Waits.until(() -> count + " duty cycles; there were " + cycles.get(), () -> cycles.get() >= count);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
