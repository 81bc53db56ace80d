package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.admin.HandlerInfo;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.StuckSettings;
import io.waybill.exchange.HandlerCall;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.testing.core.Waits;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.poll.HandlerSlot;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.serve.OpenRequests;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class WatchdogTest {

    private static final Duration AFTER = Duration.ofSeconds(30);
    private static final Duration WITHOUT_DEADLINE = Duration.ofMinutes(5);
    private static final int MAX = 2;
    private static final Provider ACME = new Provider("acme", "1.0.0");
    private static final HandlerKey COUNT = HandlerKey.parse("text.count");

    private final ManualClock clock = new ManualClock();
    private final HandlerRegistry registry =
            new HandlerRegistry(ParkingSettings.DEFAULT, Host.real().threads(), clock);
    private final HandlerExecutor executor = registry.newExecutor(ACME, ExecutorSettings.forProcessors(2));
    private final HandlerSlots invocations = new HandlerSlots(Host.real().threads());
    private final WorkerCounters counters = new WorkerCounters();
    private final Watchdog watchdog = new Watchdog(
            invocations,
            new OpenRequests(),
            () -> {},
            new StuckCalls(new StuckSettings(AFTER.toNanos(), WITHOUT_DEADLINE.toNanos(), MAX), registry, counters),
            clock);
    private final AtomicLong sequences = new AtomicLong();
    private final List<Call> calls = new ArrayList<>();
    private HandlerEntry entry;

    @AfterEach
    void endThreads() {
        calls.forEach(call -> call.end.countDown());
        executor.close(Duration.ofSeconds(20));
    }

    private HandlerRegistry.Registration publish(boolean nonBlocking) {
        HandlerRegistry.Registration registration = registry.add(new HandlerSpec(
                List.of(COUNT),
                (message, outbox) -> {},
                nonBlocking,
                ACME,
                0,
                WatchdogTest.class.getClassLoader(),
                executor));
        entry = registry.table().forKey(COUNT);
        return registration;
    }

    /** A call that its handler's thread is inside of until the test ends it. */
    private class Call implements HandlerCall, Runnable {
        final CountDownLatch begun = new CountDownLatch(1);
        final CountDownLatch end = new CountDownLatch(1);
        final CountDownLatch ended = new CountDownLatch(1);
        final AtomicLong open = new AtomicLong(sequences.incrementAndGet());
        final AtomicBoolean abandoned = new AtomicBoolean();
        final AtomicBoolean interrupted = new AtomicBoolean();
        final AtomicBoolean interruptedAfterwards = new AtomicBoolean();
        final boolean inline;
        final long deadlineNs;

        Call(boolean inline, long deadlineNs) {
            this.inline = inline;
            this.deadlineNs = deadlineNs;
            calls.add(this);
        }

        @Override
        public void run() {
            HandlerSlot slot = invocations.own();
            if (inline) {
                slot.beginInline();
            }
            HandlerCall before = slot.enter(this);
            begun.countDown();
            try {
                end.await();
            } catch (InterruptedException e) {
                interrupted.set(true);
                Thread.currentThread().interrupt();
            }
            slot.leave(before);
            interruptedAfterwards.set(Thread.currentThread().isInterrupted());
            if (inline) {
                slot.endInline();
            }
            ended.countDown();
        }

        Call on(HandlerExecutor threads) throws InterruptedException {
            threads.execute(this);
            assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
            return this;
        }

        void finish() throws InterruptedException {
            end.countDown();
            assertThat(ended.await(20, TimeUnit.SECONDS)).isTrue();
        }

        @Override
        public long sequence() {
            return open.get();
        }

        @Override
        public HandlerEntry entry() {
            return entry;
        }

        @Override
        public long id() {
            return 7;
        }

        @Override
        public long deadlineNs() {
            return deadlineNs;
        }

        @Override
        public void abandon(long sequence) {
            if (open.compareAndSet(sequence, 0)) {
                abandoned.set(true);
            }
        }
    }

    private Call call() throws InterruptedException {
        return new Call(false, clock.bootNs() + Duration.ofSeconds(10).toNanos()).on(executor);
    }

    private Call inlineCall(HandlerExecutor poller) throws InterruptedException {
        return new Call(true, clock.bootNs() + Duration.ofSeconds(10).toNanos()).on(poller);
    }

    private HandlerStatus status() {
        return registry.statuses().get(0);
    }

    private void lookAfter(Duration passed) {
        clock.advance(passed);
        watchdog.look();
    }

    @Test
    void isAtRestOnlyWhileNoThreadIsInAHandler() throws Exception {
        publish(false);
        assertThat(watchdog.isAtRest()).as("before a call").isTrue();
        Call call = new Call(false, 0).on(executor);
        assertThat(watchdog.isAtRest()).as("while a handler runs").isFalse();
        call.finish();
        assertThat(watchdog.isAtRest()).as("after it").isTrue();
    }

    @Test
    void findsACallStuckOnlyLongAfterItsDeadline() throws Exception {
        publish(false);
        call();
        watchdog.look();
        lookAfter(Duration.ofSeconds(39));
        assertThat(counters.requestsStuck()).isZero();

        lookAfter(Duration.ofSeconds(1));
        assertThat(counters.requestsStuck()).isEqualTo(1);
        assertThat(status().stuck()).isEqualTo(1);
        assertThat(status().state()).isEqualTo(HandlerInfo.State.SERVING);

        lookAfter(Duration.ofHours(1));
        assertThat(counters.requestsStuck()).as("it is counted once").isEqualTo(1);
    }

    @Test
    void findsACallWithoutADeadlineStuckAfterATimeOfItsOwn() throws Exception {
        publish(false);
        new Call(false, 0).on(executor);
        watchdog.look();
        lookAfter(WITHOUT_DEADLINE.minusNanos(1));
        assertThat(status().stuck()).isZero();

        lookAfter(Duration.ofNanos(1));
        assertThat(status().stuck()).isEqualTo(1);
    }

    @Test
    void doesNotTakeAPauseOfTheHostForAStuckCall() throws Exception {
        publish(false);
        call();
        watchdog.look();
        clock.suspend(Duration.ofHours(1));
        watchdog.look();

        assertThat(status().stuck()).isZero();
    }

    @Test
    void doesNotTakeOneCallForAnother() throws Exception {
        publish(false);
        for (int i = 0; i < 3; i++) {
            Call quick = call();
            watchdog.look();
            quick.finish();
            clock.advance(Duration.ofMinutes(1));
        }
        call();
        watchdog.look();
        watchdog.look();

        assertThat(counters.requestsStuck()).isZero();
    }

    @Test
    void replacesTheThreadOfAStuckCall() throws Exception {
        publish(false);
        call();
        watchdog.look();
        assertThat(executor.taskCount()).isEqualTo(1);

        lookAfter(Duration.ofMinutes(1));
        assertThat(executor.taskCount()).isZero();

        call().finish();
        calls.get(0).finish();
        Waits.until("all tasks are counted out", () -> executor.taskCount() == 0);
    }

    @Test
    void takesAHandlerWithTooManyStuckCallsOutOfServiceUntilSomeComeBack() throws Exception {
        publish(false);
        AtomicInteger changes = new AtomicInteger();
        registry.addListener(changes::incrementAndGet);
        for (int i = 0; i < MAX; i++) {
            assertThat(entry.isOutOfService()).isFalse();
            call();
            watchdog.look();
            lookAfter(Duration.ofMinutes(1));
        }
        assertThat(entry.isOutOfService()).isTrue();
        assertThat(status().state()).isEqualTo(HandlerInfo.State.STUCK);
        assertThat(changes).hasValue(1);

        calls.get(0).finish();
        watchdog.look();
        assertThat(entry.isOutOfService()).isFalse();
        assertThat(status().state()).isEqualTo(HandlerInfo.State.SERVING);
        assertThat(status().stuck()).isEqualTo(1);
        assertThat(changes).hasValue(2);
    }

    @Test
    void keepsRequestsOffThePollerWhileTheirHandlerKeepsOne() throws Exception {
        publish(true);
        HandlerExecutor poller = registry.newExecutor(new Provider("poller", "1"), ExecutorSettings.forProcessors(2));
        assertThat(entry.runsOnPoller()).isTrue();
        Call kept = inlineCall(poller);
        watchdog.look();
        assertThat(entry.runsOnPoller()).as("after one look").isTrue();
        watchdog.look();
        assertThat(entry.runsOnPoller()).isFalse();

        kept.finish();
        watchdog.look();
        assertThat(entry.runsOnPoller()).isTrue();
        poller.close(Duration.ofSeconds(20));
    }

    @Test
    void interruptsANonBlockingHandlerWhoseBundleLeft() throws Exception {
        HandlerRegistry.Registration registration = publish(true);
        HandlerExecutor poller = registry.newExecutor(new Provider("poller", "1"), ExecutorSettings.forProcessors(2));
        assertThat(entry.begin()).isTrue();
        Call kept = inlineCall(poller);
        watchdog.look();
        watchdog.look();
        assertThat(kept.abandoned).isFalse();

        assertThat(registration.withdraw(Duration.ZERO).stillRunning()).isEqualTo(1);
        watchdog.look();

        assertThat(kept.abandoned).isTrue();
        assertThat(kept.ended.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(kept.interrupted).isTrue();
        assertThat(kept.interruptedAfterwards)
                .as("the interrupt stays with the handler")
                .isFalse();
        poller.close(Duration.ofSeconds(20));
    }

    @Test
    void writesOffTheThreadOfTheHandlerInWhichAnotherIsStuck() throws Exception {
        publish(true);
        Call inner = new Call(true, clock.bootNs());
        Call outer = new Call(false, 0) {
            @Override
            public void run() {
                HandlerSlot slot = invocations.own();
                HandlerCall before = slot.enter(this);
                inner.run();
                slot.leave(before);
            }
        };
        executor.execute(outer);
        assertThat(inner.begun.await(20, TimeUnit.SECONDS)).isTrue();
        watchdog.look();
        lookAfter(Duration.ofMinutes(1));

        assertThat(status().stuck()).isEqualTo(1);
        assertThat(executor.taskCount()).isZero();
        inner.finish();
    }
}
