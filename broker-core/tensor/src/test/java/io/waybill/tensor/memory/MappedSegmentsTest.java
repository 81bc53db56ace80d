package io.waybill.tensor.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.device.MappedSegment;
import io.waybill.api.device.MappedSegment.Use;
import io.waybill.api.device.MappingListener;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.testing.core.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class MappedSegmentsTest {

    private final ManualClock clock = new ManualClock();
    private final MappedSegments segments =
            new MappedSegments("worker", Host.real().threads(), clock);
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

    /** Notes what it is told: {@code +address} and {@code -address}. */
    private static class Noting implements MappingListener {
        final ConcurrentLinkedQueue<String> noted = new ConcurrentLinkedQueue<>();

        @Override
        public void mapped(MappedSegment segment) {
            noted.add("+" + segment.address());
        }

        @Override
        public void unmapping(MappedSegment segment) {
            noted.add("-" + segment.address());
        }
    }

    private MappedSegments.Mapped map(long address) {
        return segments.mapped(new MappedSegment(address, 4096, Use.SENDS, address));
    }

    private MappedSegments.Registration listen(MappingListener listener) {
        return segments.listen("the test", listener, (text, error) -> failures.add(text));
    }

    @Test
    void reportsEachSegmentOnceAlsoThoseThatWereMappedBefore() {
        MappedSegments.Mapped first = map(1);
        map(2);
        MappedSegments.Mapped gone = map(9);
        segments.unmap(gone, () -> {});
        Noting one = new Noting();
        MappedSegments.Registration leaving = listen(one);
        map(3);
        Noting two = new Noting();
        listen(two);
        Waits.until("both know all", () -> one.noted.size() == 3 && two.noted.size() == 3);
        AtomicBoolean freed = new AtomicBoolean();
        segments.unmap(first, () -> freed.set(true));
        Waits.until("it is unmapped", freed::get);
        leaving.close();
        assertThat(one.noted).containsExactly("+1", "+2", "+3", "-1", "-2", "-3");
        assertThat(two.noted).containsExactly("+1", "+2", "+3", "-1");
        segments.close();
        assertThat(two.noted).containsExactly("+1", "+2", "+3", "-1", "-2", "-3");
        assertThat(failures).isEmpty();
    }

    @Test
    void unmapsAtOnceWithoutAListenerAndAfterTheLastOneOtherwise() {
        AtomicBoolean alone = new AtomicBoolean();
        segments.unmap(map(1), () -> alone.set(true));
        assertThat(alone).isTrue();

        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch hold = new CountDownLatch(1);
        AtomicBoolean freed = new AtomicBoolean();
        AtomicBoolean freedWhileInside = new AtomicBoolean();
        listen(new Noting());
        listen(new Noting() {
            @Override
            public void unmapping(MappedSegment segment) {
                inside.countDown();
                Waits.until("the test goes on", () -> hold.getCount() == 0);
                freedWhileInside.set(freed.get());
            }
        });
        segments.unmap(map(2), () -> freed.set(true));
        Waits.until("the listener is inside", () -> inside.getCount() == 0);
        map(3); // no lock is held meanwhile
        assertThat(freed).isFalse();
        hold.countDown();
        Waits.until("it is unmapped", freed::get);
        assertThat(freedWhileInside).isFalse();
    }

    @Test
    void aListenerThatThrowsIsChargedAndDelaysNothing() {
        Noting bad = new Noting() {
            @Override
            public void mapped(MappedSegment segment) {
                super.mapped(segment);
                if (segment.address() == 1) {
                    throw new LinkageError("planted");
                }
            }

            @Override
            public void unmapping(MappedSegment segment) {
                super.unmapping(segment);
                throw new IllegalStateException("planted");
            }
        };
        listen(bad);
        AtomicInteger freed = new AtomicInteger();
        MappedSegments.Mapped first = map(1);
        MappedSegments.Mapped second = map(2);
        segments.unmap(first, freed::incrementAndGet);
        segments.unmap(second, freed::incrementAndGet);
        Waits.until("both are unmapped", () -> freed.get() == 2);
        assertThat(bad.noted).as("what it refused does not end").containsExactly("+1", "+2", "-2");
        assertThat(failures)
                .containsExactly(
                        "the test threw in mapped(): java.lang.LinkageError: planted",
                        "the test threw in unmapping(): java.lang.IllegalStateException: planted");
    }

    /** Returns when the test goes on; interrupts do not end the wait. */
    private static void hang(CountDownLatch hold) {
        boolean interrupted;
        do {
            try {
                hold.await();
                interrupted = false;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        } while (interrupted);
    }

    @Test
    void aListenerThatHangsIsWaitedForUpToTheLimit() throws Exception {
        CountDownLatch hold = new CountDownLatch(1);
        Noting hanging = new Noting() {
            @Override
            public void mapped(MappedSegment segment) {
                super.mapped(segment);
                hang(hold);
            }
        };
        MappedSegments.Registration registration = listen(hanging);
        Noting sound = new Noting();
        listen(sound);
        AtomicBoolean freed = new AtomicBoolean();
        segments.unmap(map(1), () -> freed.set(true));
        Waits.until("it hangs", () -> !hanging.noted.isEmpty());
        Waits.until("another one is notified", () -> sound.noted.contains("-1"));
        clock.advance(Duration.ofNanos(MappedSegments.LIMIT_NS - 1));
        segments.look();
        assertThat(freed).as("unmapped while a listener may use it").isFalse();
        clock.advance(Duration.ofNanos(1));
        segments.look();
        Waits.until("it is unmapped", freed::get);
        assertThat(failures)
                .containsExactly(
                        "the test has not returned from mapped() for 5000 ms, and is called no more for segments");
        segments.unmap(map(2), () -> {});
        registration.close(); // at once
        hold.countDown();
        Waits.until("others go on", () -> sound.noted.contains("-2"));
        assertThat(hanging.noted).containsExactly("+1");
    }

    @Test
    void anEndWaitsUpToTheLimit() {
        CountDownLatch hold = new CountDownLatch(1);
        map(1);
        MappedSegments.Registration registration = listen(new Noting() {
            @Override
            public void unmapping(MappedSegment segment) {
                hang(hold);
            }
        });
        AtomicBoolean closed = new AtomicBoolean();
        Thread closing = new Thread(
                () -> {
                    registration.close();
                    closed.set(true);
                },
                "closing");
        closing.start();
        Waits.until("the time passes", () -> {
            clock.advance(Duration.ofMillis(100));
            return closed.get();
        });
        hold.countDown();
        assertThat(failures).hasSize(1).allMatch(text -> text.contains("has not returned"));
    }

    @Test
    void aListenerMayLeaveInItsOwnCall() {
        MappedSegments.Registration[] own = new MappedSegments.Registration[1];
        CountDownLatch registered = new CountDownLatch(1);
        Noting leaving = new Noting() {
            @Override
            public void mapped(MappedSegment segment) {
                super.mapped(segment);
                Waits.until("it is registered", () -> registered.getCount() == 0);
                own[0].close();
            }
        };
        own[0] = listen(leaving);
        registered.countDown();
        map(1);
        Waits.until("it is told of the end", () -> leaving.noted.contains("-1"));
        map(2);
        AtomicBoolean freed = new AtomicBoolean();
        segments.unmap(map(3), () -> freed.set(true));
        assertThat(freed).isTrue();
        assertThat(leaving.noted).containsExactly("+1", "-1");
    }

    @Test
    void pairsEveryCallWhateverComesAndGoes() throws InterruptedException {
        Random random = new Random(63);
        List<Noting> all = new ArrayList<>();
        List<MappedSegments.Registration> registrations = new ArrayList<>();
        ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
        AtomicInteger freed = new AtomicInteger();
        List<Thread> mappers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int from = 1000 * (i + 1);
            Thread mapper = new Thread(
                    () -> {
                        for (int k = 0; k < 500; k++) {
                            MappedSegments.Mapped mapped = map(from + k);
                            segments.unmap(mapped, freed::incrementAndGet);
                        }
                    },
                    "mapper-" + i);
            mappers.add(mapper);
            mapper.start();
        }
        for (int i = 0; i < 200; i++) {
            if (registrations.isEmpty() || random.nextInt(3) > 0) {
                Noting noting = new Noting() {
                    @Override
                    public void unmapping(MappedSegment segment) {
                        if (!noted.remove("+" + segment.address())) {
                            wrong.add("an end without a begin of " + segment.address());
                        }
                    }
                };
                all.add(noting);
                registrations.add(listen(noting));
            } else {
                registrations.remove(random.nextInt(registrations.size())).close();
            }
        }
        for (Thread mapper : mappers) {
            mapper.join();
        }
        segments.close();
        Waits.until("all are unmapped", () -> freed.get() == 2000);
        assertThat(wrong).isEmpty();
        assertThat(failures).isEmpty();
        assertThat(all)
                .allSatisfy(
                        noting -> assertThat(noting.noted).as("without an end").isEmpty());
    }
}
