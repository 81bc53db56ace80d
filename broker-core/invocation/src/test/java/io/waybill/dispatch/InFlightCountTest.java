package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class InFlightCountTest {

    private static final int THREADS = 3;
    private static final int CALLS = 20_000;

    private final Clock clock = Host.real().clock();
    private final InFlightCount count = new InFlightCount();

    private long untilNs() {
        return clock.monotonicNs() + Duration.ofMinutes(2).toNanos();
    }

    @Test
    void countsTheCallsOfSeveralThreads() throws Exception {
        AtomicBoolean drained = new AtomicBoolean();
        AtomicLong refused = new AtomicLong();
        AtomicLong late = new AtomicLong();
        CyclicBarrier together = new CyclicBarrier(THREADS + 1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Thread thread = new Thread(() -> {
                Waiting.at(together);
                for (int call = 0; call < CALLS; call++) {
                    boolean isLate = drained.get();
                    if (count.begin()) {
                        late.addAndGet(isLate ? 1 : 0);
                        count.end();
                    } else {
                        refused.incrementAndGet();
                    }
                }
            });
            thread.start();
            threads.add(thread);
        }
        Waiting.at(together);
        count.withdraw();
        assertThat(count.awaitDrained(clock, Host.real().threads(), untilNs())).isZero();
        drained.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(late).as("calls that began after the withdrawal returned").hasValue(0);
        assertThat(count.begun() + refused.get()).isEqualTo((long) THREADS * CALLS);
        assertThat(count.ended()).isEqualTo(count.begun());
        assertThat(count.inFlight()).isZero();
    }

    @Test
    void aCallMayEndOnAnotherThreadThanItBegan() throws Exception {
        assertThat(count.begin()).isTrue();
        count.end(); // this thread has the counter of its own from here on
        assertThat(count.begin()).isTrue();
        assertThat(count.begin()).isTrue();
        Thread other = new Thread(count::end);
        other.start();
        other.join();
        assertThat(count.inFlight()).isOne();
        count.withdraw();
        assertThat(count.awaitDrained(clock, Host.real().threads(), clock.monotonicNs()))
                .isOne();
        count.end();
        assertThat(count.awaitDrained(clock, Host.real().threads(), untilNs())).isZero();
        assertThat(count.ended()).isEqualTo(3);
    }

    /** A thread that waits, and what happens meanwhile. */
    private static final class Meanwhile implements Threads {
        private final List<Long> waits = new ArrayList<>();
        private final Waited then;

        private interface Waited {
            void happens() throws InterruptedException;
        }

        Meanwhile(Waited then) {
            this.then = then;
        }

        @Override
        public Thread start(String name, Runnable body) {
            throw new UnsupportedOperationException("no thread is started here");
        }

        @Override
        public void waitOn(Object monitor, long maxMs) throws InterruptedException {
            waits.add(maxMs);
            then.happens();
        }
    }

    @Test
    void waitsUntilTheLastCallHasEnded() {
        count.begin();
        count.begin();
        count.withdraw();
        Meanwhile threads = new Meanwhile(count::end);
        assertThat(count.awaitDrained(clock, threads, untilNs())).isZero();
        assertThat(threads.waits)
                .as("waits in ms, none long, because a clock may move by itself")
                .containsExactly(50L, 50L);
    }

    @Test
    void givesUpAtItsMoment() {
        ManualClock manual = new ManualClock();
        count.begin();
        Meanwhile threads = new Meanwhile(() -> manual.advance(Duration.ofMillis(20)));
        long untilNs = manual.monotonicNs() + Duration.ofMillis(50).toNanos();
        assertThat(count.awaitDrained(manual, threads, untilNs)).isOne();
        assertThat(threads.waits).as("waits in ms, none beyond the moment").containsExactly(50L, 30L, 10L);
    }

    @Test
    void returnsWhatIsInFlightWhenItsThreadIsInterrupted() {
        count.begin();
        Meanwhile threads = new Meanwhile(() -> {
            throw new InterruptedException("planted");
        });
        assertThat(count.awaitDrained(clock, threads, untilNs())).isOne();
        assertThat(Thread.interrupted())
                .as("the interrupt, which is its caller's")
                .isTrue();
        assertThat(threads.waits).hasSize(1);
    }

    /** Waits for other threads. */
    private static final class Waiting {

        static void at(CyclicBarrier barrier) {
            try {
                barrier.await();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
