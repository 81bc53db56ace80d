package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.host.Clock;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import java.time.Duration;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class HandlerExecutorTest {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final int MAX_TASKS = 100;
    private static final AtomicInteger ROOM = new AtomicInteger();

    private final HandlerExecutor executor = executor(Duration.ofSeconds(10));

    private static HandlerExecutor executor(Duration keepAlive) {
        return new HandlerExecutor(
                "acme",
                new ExecutorSettings(2, MAX_TASKS, 200_000, 1_000, keepAlive),
                new DaemonThreads(),
                new RunningClock(),
                new PolledTasks.Source(ROOM::incrementAndGet, () -> null));
    }

    @AfterEach
    void endThreads() {
        executor.close(LONG);
    }

    @Test
    void notifiesOnceWhenThereIsRoomForWhoFoundNone() throws InterruptedException {
        ROOM.set(0);
        CountDownLatch mayEnd = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(MAX_TASKS);
        for (int i = 0; i < MAX_TASKS; i++) {
            assertThat(executor.hasRoom()).isTrue();
            executor.execute(() -> {
                await(mayEnd);
                ended.countDown();
            });
        }
        assertThat(executor.hasRoom()).isFalse();
        assertThat(ROOM).hasValue(0);
        mayEnd.countDown();
        assertThat(ended.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
        Waits.until("none is counted as running", () -> executor.taskCount() == 0);
        executor.close(LONG); // every thread has counted its task out by then
        assertThat(ROOM).hasValue(1);
    }

    @Test
    void runsEveryTaskOnce() {
        AtomicInteger ran = new AtomicInteger();
        for (int i = 0; i < 20_000; i++) {
            Waits.until(
                    () -> "room for a task after " + ran.get() + " that ran, with " + executor.taskCount() + " counted",
                    () -> executor.taskCount() < MAX_TASKS);
            executor.execute(ran::incrementAndGet);
        }
        Waits.until("all ran", () -> ran.get() == 20_000);
        Waits.until("none is counted as running", () -> executor.taskCount() == 0);
    }

    @Test
    void namesItsThreadsForTheProvider() {
        Set<String> names = ConcurrentHashMap.newKeySet();
        executor.execute(() -> names.add(Thread.currentThread().getName()));
        Waits.until("it ran", () -> !names.isEmpty());
        assertThat(names).allMatch(name -> name.matches("acme-handler-\\d+"));
    }

    @Test
    void growsWhenItsThreadsAreBlocked() throws Exception {
        CountDownLatch allRun = new CountDownLatch(MAX_TASKS);
        CountDownLatch release = new CountDownLatch(1);
        for (int i = 0; i < MAX_TASKS; i++) {
            executor.execute(() -> {
                allRun.countDown();
                await(release);
            });
        }
        assertThat(allRun.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(executor.threadCount()).isEqualTo(MAX_TASKS);
        release.countDown();
    }

    @Test
    void aTaskWaitsWhileAsManyAreBusyAsThereAreProcessorsUnlessTheyAreLong() {
        AtomicInteger looks = new AtomicInteger();
        Threads threads = new Threads() {
            @Override
            public Thread start(String name, Runnable body) {
                return new DaemonThreads().start(name, body);
            }

            @Override
            public void pause(long ns) {
                looks.incrementAndGet();
                Threads.super.pause(ns);
            }
        };
        ManualClock clock = new ManualClock();
        HandlerExecutor busy = new HandlerExecutor(
                "acme", new ExecutorSettings(2, MAX_TASKS, 1_000, 0, LONG), threads, clock, PolledTasks.Source.PLAIN);
        AtomicBoolean mayEnd = new AtomicBoolean();
        AtomicInteger running = new AtomicInteger();
        try {
            for (int i = 0; i < 4; i++) {
                busy.execute(() -> {
                    running.incrementAndGet();
                    while (!mayEnd.get()) {
                        Thread.onSpinWait();
                    }
                });
            }
            Waits.until("two run", () -> running.get() == 2);
            int before = looks.get();
            Waits.until(
                    "a third thread looks whether it is needed", () -> looks.get() > before + 10 || running.get() > 2);
            assertThat(running).as("tasks that run on two processors").hasValue(2);

            clock.advance(LONG);
            Waits.until("those that run are long: one more runs", () -> running.get() > 2);
        } finally {
            mayEnd.set(true);
            busy.close(LONG);
        }
    }

    /** Threads whose pauses last until the test ends them. */
    private static final class HeldPauses implements Threads {
        private final Threads threads = new DaemonThreads();
        private final Queue<Thread> started = new ConcurrentLinkedQueue<>();
        private final CountDownLatch mayEnd = new CountDownLatch(1);
        private final CountDownLatch paused = new CountDownLatch(1);
        private volatile boolean holds;

        boolean isIdle(int threads) {
            return started.stream()
                            .filter(each -> each.getState() == Thread.State.TIMED_WAITING)
                            .count()
                    == threads;
        }

        @Override
        public Thread start(String name, Runnable body) {
            Thread thread = threads.start(name, body);
            started.add(thread);
            return thread;
        }

        @Override
        public void pause(long ns) {
            if (holds) {
                paused.countDown();
                HandlerExecutorTest.await(mayEnd);
            }
        }
    }

    @Test
    void aTaskBehindShortOnesWaitsForThemThoughThreadsAreIdle() throws Exception {
        HeldPauses threads = new HeldPauses();
        ManualClock clock = new ManualClock();
        HandlerExecutor held = new HandlerExecutor(
                "acme", new ExecutorSettings(2, MAX_TASKS, 1, 0, LONG), threads, clock, PolledTasks.Source.PLAIN);
        try {
            CountDownLatch allRun = new CountDownLatch(4);
            for (int i = 0; i < 4; i++) {
                held.execute(() -> {
                    allRun.countDown();
                    await(allRun);
                });
            }
            Waits.until("four threads are idle", () -> held.taskCount() == 0 && threads.isIdle(4));
            threads.holds = true;
            held.polled().areShort(true);
            clock.advance(LONG); // those have ended long ago
            CountDownLatch mayEnd = new CountDownLatch(1);
            held.execute(() -> await(mayEnd));
            held.execute(() -> await(mayEnd));
            AtomicBoolean ran = new AtomicBoolean();
            held.execute(() -> ran.set(true));
            assertThat(threads.paused.await(20, TimeUnit.SECONDS))
                    .as("whether one thread waits for a while and then helps")
                    .isTrue();
            assertThat(ran).isFalse();

            threads.mayEnd.countDown();
            Waits.until("it runs though the others block", ran::get);

            ran.set(false);
            clock.advance(LONG);
            held.execute(() -> ran.set(true));
            Waits.until("one runs at once when those that run are long", ran::get);
            mayEnd.countDown();
        } finally {
            threads.mayEnd.countDown();
            held.close(LONG);
        }
    }

    @Test
    void growsWhenTasksBlockAfterQuickOnes() throws Exception {
        for (int round = 0; round < 20; round++) {
            AtomicInteger quick = new AtomicInteger();
            for (int i = 0; i < 50; i++) {
                executor.execute(quick::incrementAndGet);
            }
            CountDownLatch allRun = new CountDownLatch(40);
            CountDownLatch release = new CountDownLatch(1);
            for (int i = 0; i < 40; i++) {
                executor.execute(() -> {
                    allRun.countDown();
                    await(release);
                });
            }
            assertThat(allRun.await(20, TimeUnit.SECONDS)).isTrue();
            release.countDown();
            Waits.until("the round ended", () -> executor.taskCount() == 0);
            assertThat(quick).hasValue(50);
        }
    }

    @Test
    void refusesWhatIsBeyondTheLimitAndRecovers() {
        CountDownLatch release = new CountDownLatch(1);
        for (int i = 0; i < MAX_TASKS; i++) {
            executor.execute(() -> await(release));
        }
        assertThatExceptionOfType(ExecutorRefusedException.class)
                .isThrownBy(() -> executor.execute(() -> {}))
                .withMessageContaining("at most 100")
                .extracting(ExecutorRefusedException::reason)
                .isEqualTo(ExecutorRefusedException.Reason.FULL);
        release.countDown();
        Waits.until("room again", () -> executor.taskCount() == 0);
        AtomicBoolean ran = new AtomicBoolean();
        executor.execute(() -> ran.set(true));
        Waits.until("it ran", ran::get);
    }

    @Test
    void runsTasksThatWaitForTasks() throws Exception {
        CountDownLatch deepest = new CountDownLatch(1);
        nest(50, deepest);
        assertThat(deepest.await(20, TimeUnit.SECONDS)).isTrue();
        Waits.until("all ended", () -> executor.taskCount() == 0);
    }

    private void nest(int depth, CountDownLatch done) {
        executor.execute(() -> {
            if (depth == 0) {
                done.countDown();
                return;
            }
            CountDownLatch inner = new CountDownLatch(1);
            nest(depth - 1, inner);
            await(inner);
            done.countDown();
        });
    }

    @Test
    void letsIdleThreadsGo() {
        HandlerExecutor brief = executor(Duration.ofMillis(20));
        CountDownLatch release = new CountDownLatch(1);
        for (int i = 0; i < 10; i++) {
            brief.execute(() -> await(release));
        }
        release.countDown();
        Waits.until("no thread is left", () -> brief.threadCount() == 0);
        AtomicBoolean ran = new AtomicBoolean();
        brief.execute(() -> ran.set(true));
        Waits.until("it starts one again", ran::get);
        brief.close(LONG);
    }

    @Test
    void goesOnAfterATaskThatThrew() {
        AtomicBoolean ran = new AtomicBoolean();
        executor.execute(() -> {
            throw new IllegalStateException("expected by this test");
        });
        executor.execute(() -> ran.set(true));
        Waits.until("the next ran", ran::get);
    }

    @Test
    void endsItsThreadsWhenClosed() {
        CountDownLatch never = new CountDownLatch(1);
        executor.execute(() -> await(never));
        Waits.until("it runs", () -> executor.threadCount() == 1);

        assertThat(executor.close(LONG)).isZero();
        assertThat(executor.threadCount()).isZero();
        assertThatExceptionOfType(ExecutorRefusedException.class)
                .isThrownBy(() -> executor.execute(() -> {}))
                .extracting(ExecutorRefusedException::reason)
                .isEqualTo(ExecutorRefusedException.Reason.CLOSED);
    }

    @Test
    void givesUpAThreadThatDoesNotEndAndNotifiesItsTask() {
        AtomicBoolean release = new AtomicBoolean();
        AtomicBoolean notified = new AtomicBoolean();
        AtomicBoolean runs = new AtomicBoolean();
        executor.execute(new HandlerExecutor.Abandonable() {
            @Override
            public void run() {
                runs.set(true);
                while (!release.get()) {
                    LockSupport.parkNanos(1_000_000); // deaf to interrupts
                    Thread.interrupted();
                }
            }

            @Override
            public void abandoned() {
                notified.set(true);
            }
        });
        Waits.until("it runs", runs::get);

        assertThat(executor.close(Duration.ofMillis(50))).isEqualTo(1);
        assertThat(notified).isTrue();
        release.set(true);
        Waits.until("the thread ends by itself", () -> executor.threadCount() == 0);
    }

    @Test
    void doesWithoutAThreadThatWasWrittenOffUntilItComesBack() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        Set<Thread> stuck = ConcurrentHashMap.newKeySet();
        for (int i = 0; i < MAX_TASKS; i++) {
            executor.execute(() -> {
                stuck.add(Thread.currentThread());
                await(never);
            });
        }
        Waits.until("all run", () -> stuck.size() == MAX_TASKS);
        assertThat(executor.hasRoom()).isFalse();
        Thread one = stuck.iterator().next();

        assertThat(executor.writeOff(one)).isTrue();
        assertThat(executor.writeOff(one)).as("once").isFalse();
        assertThat(executor.writeOff(Thread.currentThread())).as("another's").isFalse();

        assertThat(executor.taskCount()).isEqualTo(MAX_TASKS - 1);
        CountDownLatch ran = new CountDownLatch(1);
        executor.execute(ran::countDown);
        assertThat(ran.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(executor.threadCount()).isEqualTo(MAX_TASKS + 1);

        never.countDown();
        Waits.until("all ended", () -> executor.taskCount() == 0);
        assertThat(executor.writeOff(one)).as("it has no task").isFalse();
        runsEveryTaskOnce();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static final class RunningClock implements Clock {
        @Override
        public long monotonicNs() {
            return System.nanoTime();
        }

        @Override
        public long bootNs() {
            return System.nanoTime();
        }

        @Override
        public long wallNs() {
            return System.nanoTime();
        }
    }
}
