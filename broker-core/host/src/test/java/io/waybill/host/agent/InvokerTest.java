package io.waybill.host.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.host.SimulatedTime;
import io.waybill.host.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.agrona.concurrent.Agent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class InvokerTest {

    private static final long SECOND_NS = 1_000_000_000;

    private final SimulatedTime time = new SimulatedTime(new Random(1));
    private final Invoker invoker = new Invoker(time, time);
    private final Invoker.Group threads = invoker.newGroup();
    private final List<String> events = new ArrayList<>();

    private AgentThread agent(String name, long restNs, Runnable work) {
        ParkingIdleStrategy idle = new ParkingIdleStrategy(time, threads);
        AgentThread thread = new AgentThread(
                name,
                new Agent() {
                    @Override
                    public int doWork() {
                        idle.rest(restNs);
                        work.run();
                        return 0;
                    }

                    @Override
                    public void onClose() {
                        events.add(name + " closed");
                    }

                    @Override
                    public String roleName() {
                        return name;
                    }
                },
                idle);
        thread.start(threads);
        return thread;
    }

    @Test
    void runsAgentsInTurns() {
        AtomicInteger quick = new AtomicInteger();
        AtomicInteger slow = new AtomicInteger();
        agent("quick", SECOND_NS / 100, quick::incrementAndGet);
        agent("slow", SECOND_NS, slow::incrementAndGet);
        long untilNs = time.monotonicNs() + 10 * SECOND_NS;
        while (time.monotonicNs() - untilNs < 0) {
            invoker.step(untilNs);
        }
        assertThat(quick.get()).isBetween(900, 1001);
        assertThat(slow).hasValueBetween(10, 11);
    }

    @Test
    void aWaitEndsAtItsOwnTimeWhateverBeganMeanwhile() {
        threads.start("leader", () -> {
            threads.await(ns -> false, SECOND_NS);
            events.add("leader");
        });
        threads.start("handler", () -> {
            threads.await(ns -> events.contains("leader"), 3 * SECOND_NS);
            events.add("handler");
        });
        long beganNs = time.monotonicNs();
        while (!threads.alive().isEmpty()) {
            invoker.step(beganNs + 10 * SECOND_NS);
        }
        assertThat(events).containsExactly("leader", "handler");
        assertThat(time.monotonicNs() - beganNs).isLessThan(2 * SECOND_NS);
    }

    @Test
    void whatWaitsOnAMonitorGoesOnAfterAChangeAndLeavesItFree() {
        Object monitor = new Object();
        List<String> changed = new ArrayList<>();
        threads.start("waits", () -> {
            synchronized (monitor) {
                while (changed.isEmpty()) {
                    waitOn(monitor, 0);
                }
                events.add("waited");
            }
        });
        threads.start("changes", () -> {
            threads.pause(SECOND_NS);
            synchronized (monitor) {
                changed.add("by the other");
                monitor.notifyAll();
            }
        });
        invoker.steps(10, SECOND_NS);
        assertThat(events).containsExactly("waited");
        assertThat(threads.alive()).isEmpty();
    }

    private void waitOn(Object monitor, long maxMs) {
        try {
            threads.waitOn(monitor, maxMs);
        } catch (InterruptedException e) {
            events.add("interrupted");
        }
    }

    @Test
    void anInterruptEndsAWait() {
        Object monitor = new Object();
        Thread parked = threads.start("parked", () -> {
            threads.park(this, Long.MAX_VALUE);
            events.add("parked " + Thread.interrupted());
        });
        Thread waiting = threads.start("waiting", () -> {
            synchronized (monitor) {
                while (!events.contains("interrupted")) {
                    waitOn(monitor, 0);
                }
            }
        });
        threads.start("interrupts", () -> {
            threads.pause(SECOND_NS);
            parked.interrupt();
            waiting.interrupt();
        });
        invoker.steps(10, SECOND_NS);
        assertThat(events).containsExactlyInAnyOrder("parked true", "interrupted");
        assertThat(threads.alive()).isEmpty();
    }

    @Test
    void closingEndsWhatWasAbandonedInsideOfItsWait() throws InterruptedException {
        Thread waits = threads.start("waits", () -> {
            try {
                threads.pause(SECOND_NS);
                events.add("goes on");
            } finally {
                events.add("ends");
            }
        });
        agent("role", SECOND_NS, () -> events.add("works"));
        invoker.steps(2, 0);
        events.clear();
        threads.abandon();
        invoker.steps(4, 2 * SECOND_NS);
        assertThat(events).isEmpty();
        invoker.close();
        assertThat(events).containsExactly("ends", "role closed");
        waits.join();
    }

    @Test
    void aRoleThatWaitsRunsTheOthersMeanwhile() throws InterruptedException {
        CompletableFuture<String> outcome = new CompletableFuture<>();
        agent("worker", SECOND_NS, () -> {
            events.add("worker begins");
            threads.pause(SECOND_NS);
            outcome.complete("done");
        });
        agent("other", SECOND_NS / 10, () -> events.add("other"));
        assertThat(threads.await(outcome, 5 * SECOND_NS)).isTrue();
        assertThat(events.subList(events.indexOf("worker begins"), events.size()))
                .contains("other");
        assertThat(threads.await(new CompletableFuture<>(), SECOND_NS)).isFalse();
    }

    @Test
    void aRoleIsUnparkedByItsOwnThreadAndHasItsOwnValues() {
        AtomicReference<Thread> role = new AtomicReference<>();
        ThreadLocal<String> local = threads.local();
        local.set("of the program");
        threads.start("waits", () -> {
            role.set(threads.current());
            assertThat(local.get()).isNull();
            local.set("of the role");
            threads.pause(Long.MAX_VALUE);
            events.add("unparked");
        });
        threads.start("wakes", () -> threads.unpark(role.get()));
        while (!threads.alive().isEmpty()) {
            invoker.step(time.monotonicNs() + SECOND_NS);
        }
        assertThat(events).containsExactly("unparked");
        assertThat(role.get().getName()).isEqualTo("waits");
        assertThat(threads.current()).isSameAs(Thread.currentThread());
        assertThat(local.get()).isEqualTo("of the program");
    }

    @Test
    void closingAnAgentWaitsForItsEnd() {
        AgentThread thread = agent("role", SECOND_NS, () -> events.add("works"));
        invoker.step(time.monotonicNs() + SECOND_NS);
        thread.close();
        assertThat(events).containsExactly("works", "role closed");
        assertThat(threads.alive()).isEmpty();
    }

    @Test
    void whatATurnThrowsEndsThatRoleAlone() {
        threads.start("throws", () -> {
            throw new IllegalStateException("by the test");
        });
        threads.start("works", () -> events.add("works"));
        invoker.step(time.monotonicNs());
        invoker.step(time.monotonicNs());
        assertThat(events).containsExactly("works");
        assertThat(threads.alive()).isEmpty();
    }

    @Test
    void anAbandonedGroupHasNoMoreTurns() {
        agent("role", 0, () -> events.add("works"));
        invoker.step(time.monotonicNs());
        events.clear();
        threads.abandon();
        threads.start("late", () -> events.add("late"));
        invoker.step(time.monotonicNs() + SECOND_NS);
        assertThat(events).isEmpty();
        assertThat(threads.alive()).isEmpty();
    }

    @Test
    void saysWhoWaitsWhenNothingCanEndIt() {
        assertThatThrownBy(() -> threads.pause(Long.MAX_VALUE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(Thread.currentThread().getName() + " waits, and nothing can end that");
    }

    @Test
    void refusesOtherThreads() throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread other = new Thread(() -> {
            try {
                threads.pause(1);
            } catch (IllegalStateException e) {
                thrown.set(e);
            }
        });
        other.start();
        other.join();
        assertThat(thrown.get()).hasMessageContaining("give each invoker a thread of its own");
    }

    @Test
    void aRealHostRunsThemOnThreads() throws InterruptedException {
        Threads real = io.waybill.host.Host.real().threads();
        CompletableFuture<Thread> ran = new CompletableFuture<>();
        Thread started = real.start("role", () -> ran.complete(real.current()));
        assertThat(real.await(ran, 20 * SECOND_NS)).isTrue();
        assertThat(ran.getNow(null)).isSameAs(started);
        assertThat(real.join(started, 20 * SECOND_NS)).isTrue();
        assertThat(real.isAlive(started)).isFalse();
    }
}
