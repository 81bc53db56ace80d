package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Clock;
import io.waybill.host.Host;
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
