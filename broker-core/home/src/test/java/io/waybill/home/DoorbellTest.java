package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Host;
import io.waybill.host.UnsafeFileException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class DoorbellTest {
    private static final Host HOST = Host.real();
    private static final long LONG_NS = TimeUnit.SECONDS.toNanos(20);

    @TempDir
    Path dir;

    @Test
    void wakesWhoWaits() throws Exception {
        try (Doorbell own = Doorbell.openOwn(dir, HOST);
                PeerDoorbell peer = PeerDoorbell.of(dir, HOST.files())) {
            CountDownLatch woken = new CountDownLatch(1);
            HOST.threads().start("waiter", () -> {
                if (own.await(LONG_NS)) {
                    woken.countDown();
                }
            });
            peer.ring();
            assertThat(woken.await(10, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void wakesItself() throws IOException {
        try (Doorbell own = Doorbell.openOwn(dir, HOST)) {
            own.ring();
            assertThat(own.await(LONG_NS)).isTrue();
            assertThat(own.await(1000)).isFalse();
            own.wake();
            assertThat(own.await(LONG_NS)).isTrue();
            assertThat(own.await(1000)).isFalse();
        }
    }

    @Test
    void ringsInVainWithoutHarm() throws IOException {
        try (PeerDoorbell peer = PeerDoorbell.of(dir, HOST.files())) {
            assertThatCode(peer::ring).doesNotThrowAnyException(); // not there yet
            Doorbell own = Doorbell.openOwn(dir, HOST);
            peer.ring();
            own.close();
            assertThatCode(peer::ring).doesNotThrowAnyException(); // nobody listens any more
            assertThatCode(peer::ring).doesNotThrowAnyException();
            try (Doorbell again = Doorbell.openOwn(dir, HOST)) {
                peer.ring();
                assertThat(again.await(LONG_NS)).isTrue();
            }
        }
    }

    @Test
    void refusesWhatIsNoFifo() throws IOException {
        Path path = Files.createFile(dir.resolve("doorbell"));
        try (PeerDoorbell peer = PeerDoorbell.of(dir, HOST.files())) {
            assertThatThrownBy(peer::ring)
                    .isInstanceOf(UnsafeFileException.class)
                    .hasMessage(path + ": expected a FIFO, found a regular file");
        }
    }

    @Test
    void losesNoWakeUp() throws Exception {
        int messages = 100_000;
        Cursors cursors = Cursors.openOwn(dir, 1, HOST);
        PeerCursors seen = PeerCursors.open(dir, 1, HOST.files());
        AtomicLong journal = new AtomicLong();
        AtomicLong consumed = new AtomicLong();
        AtomicInteger lost = new AtomicInteger();
        AtomicInteger naps = new AtomicInteger();
        try (Doorbell own = Doorbell.openOwn(dir, HOST);
                PeerDoorbell peer = PeerDoorbell.of(dir, HOST.files())) {
            Thread owner = HOST.threads().start("owner", () -> {
                while (consumed.get() < messages) {
                    if (journal.get() > consumed.get()) {
                        consumed.set(journal.get());
                        continue;
                    }
                    cursors.markAsleep(HOST.clock().monotonicNs() + LONG_NS);
                    if (journal.get() == consumed.get()) {
                        naps.incrementAndGet();
                        if (!own.await(LONG_NS) && journal.get() > consumed.get()) {
                            lost.incrementAndGet();
                        }
                    }
                    cursors.markAwake();
                }
            });
            for (long n = 1; n <= messages; n++) {
                journal.set(n);
                if (seen.isAsleepAfterFence()) {
                    peer.ring();
                }
                // wait for it most of the time, so that it falls asleep, but not always
                while (n % 8 != 0 && consumed.get() < n && owner.isAlive()) {
                    Thread.onSpinWait();
                }
            }
            owner.join(TimeUnit.SECONDS.toMillis(60));
            assertThat(owner.isAlive()).isFalse();
        }
        assertThat(lost.get()).isZero();
        assertThat(consumed.get()).isEqualTo(messages);
        assertThat(naps.get()).isGreaterThan(100);
    }

    @Test
    void wakesTheDivertingThreadInPlaceOfItsOwner() throws Exception {
        try (Doorbell own = Doorbell.openOwn(dir, HOST);
                PeerDoorbell peer = PeerDoorbell.of(dir, HOST.files())) {
            own.divert();
            peer.ring();
            assertThat(own.await(1_000_000))
                    .as("whether a ring that is diverted wakes the owner")
                    .isFalse();
            assertThat(own.awaitDiverted(LONG_NS)).isTrue();
            own.wake();
            assertThat(own.await(LONG_NS)).as("whether wake() does").isTrue();
            peer.ring();
            own.restore();
            assertThat(own.await(LONG_NS))
                    .as("whether a ring that was not taken when they are restored does")
                    .isTrue();
        }
    }

    @Test
    void losesNoRingWhileTheyAreDivertedAndRestored() throws Exception {
        int messages = 50_000;
        AtomicLong sent = new AtomicLong();
        AtomicLong byOwner = new AtomicLong();
        AtomicLong byDiverting = new AtomicLong();
        AtomicBoolean over = new AtomicBoolean();
        try (Doorbell own = Doorbell.openOwn(dir, HOST);
                PeerDoorbell peer = PeerDoorbell.of(dir, HOST.files())) {
            Thread owner = HOST.threads().start("owner", () -> {
                while (!over.get()) {
                    if (own.await(LONG_NS)) {
                        byOwner.set(sent.get());
                    }
                }
            });
            Thread diverting = HOST.threads().start("diverting", () -> {
                for (long n = 0; !over.get(); n++) {
                    own.divert();
                    if (own.awaitDiverted(n % 4 * 10_000)) {
                        byDiverting.set(sent.get());
                    }
                    own.restore();
                }
            });
            long limitNs = System.nanoTime() + 5 * LONG_NS;
            for (long n = 1; n <= messages; n++) {
                sent.set(n);
                peer.ring();
                while (Math.max(byOwner.get(), byDiverting.get()) < n) {
                    assertThat(System.nanoTime() - limitNs)
                            .as("ns over the limit: ring %s woke no thread", n)
                            .isNegative();
                    Thread.onSpinWait();
                }
            }
            over.set(true);
            own.wake();
            owner.join(TimeUnit.SECONDS.toMillis(60));
            diverting.join(TimeUnit.SECONDS.toMillis(60));
            assertThat(owner.isAlive() || diverting.isAlive()).isFalse();
        }
        assertThat(byOwner.get()).as("last message that woke the owner").isPositive();
        assertThat(byDiverting.get())
                .as("last message that woke the diverting thread")
                .isPositive();
    }

    @Test
    void ringsAndWaitsWithoutGarbage() throws IOException {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (Doorbell own = Doorbell.openOwn(dir, HOST);
                PeerDoorbell peer = PeerDoorbell.of(dir, HOST.files())) {
            int rounds = 10_000;
            long before = 0;
            for (int i = 0; i < 2 * rounds; i++) {
                if (i == rounds) {
                    before = threads.getCurrentThreadAllocatedBytes();
                }
                peer.ring();
                if (!own.await(LONG_NS)) {
                    throw new AssertionError("the ring of round " + i + " was lost");
                }
                own.await(0);
                own.divert();
                own.restore();
            }
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            assertThat(allocated).isLessThan(rounds); // not one byte each
        }
    }
}
