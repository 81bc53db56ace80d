package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PollPermitTest {

    private final PollPermit permit = new PollPermit(new FaultAlarm(Host.real().threads()));

    private static boolean isParked(Thread thread) {
        return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
    }

    private void assertReleaseEnds(Runnable wait) throws InterruptedException {
        assertThat(permit.tryAcquire()).isTrue();
        Thread waits = Host.real().threads().start("waits", wait);
        Waits.until("the thread waits for the permit", () -> isParked(waits));
        permit.release();
        waits.join(TimeUnit.SECONDS.toMillis(30));
        assertThat(waits.isAlive())
                .as("whether the thread still waits, after the permit was released")
                .isFalse();
    }

    @Test
    void aReleaseWakesThePollerThatWaits() throws InterruptedException {
        assertReleaseEnds(() -> {
            while (!permit.tryAcquireOrWait()) {
                LockSupport.park(this);
            }
        });
        assertThat(permit.waitsNoMore()).as("whether it waits still").isFalse();
    }

    @Test
    void aReleaseWakesALeaderThatWaits() throws InterruptedException {
        assertReleaseEnds(() -> permit.awaitRelease(TimeUnit.HOURS.toNanos(1)));
    }

    @Test
    void aReleaseEndsTheWaitAndSaysSo() {
        assertThat(permit.tryAcquire()).isTrue();
        assertThat(permit.tryAcquireOrWait()).isFalse();
        permit.release();
        assertThat(permit.waitsNoMore())
                .as("whether a rest that begins now would have ended by its time")
                .isFalse();
        assertThat(permit.tryAcquire()).isTrue();
        assertThat(permit.tryAcquireOrWait()).isFalse();
        assertThat(permit.waitsNoMore()).isTrue();
    }
}
