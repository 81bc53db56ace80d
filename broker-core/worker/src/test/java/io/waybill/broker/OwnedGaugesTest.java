package io.waybill.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.waybill.api.broker.Subscription;
import io.waybill.dispatch.Provider;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.testing.core.Waits;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What gauges show, whatever their suppliers do. */
@Timeout(240)
class OwnedGaugesTest {

    private static final Provider OWNER = new Provider("org.acme.count", "1.2.0");
    private static final Duration MAX_AGE = Duration.ofNanos(OwnedGauges.MAX_AGE_NS);

    private final ManualClock clock = new ManualClock();
    private final Brokers brokers = new Brokers(new TestBackend(), Host.real().withClock(clock));
    private final OwnedBroker broker = brokers.open(OWNER);
    private final CountDownLatch hanging = new CountDownLatch(1);

    @AfterEach
    void close() {
        hanging.countDown();
        brokers.close();
    }

    /** Reads as the publishing thread does, until the gauge has the value; null for none. */
    private void awaitValue(String name, Long expected) {
        Waits.until(name + " is " + expected, () -> {
            Long found = brokers.gauges().get("org.acme.count:" + name);
            return expected == null ? found == null : expected.equals(found);
        });
    }

    private long errors() {
        return brokers.counts().get("org.acme.count/callback-errors");
    }

    private static long fail() {
        throw new IllegalStateException("planted");
    }

    private long hang() {
        boolean isOver = false;
        while (!isOver) {
            try {
                hanging.await();
                isOver = true;
            } catch (InterruptedException e) {
                isOver = false; // it does not care
            }
        }
        return 99;
    }

    @Test
    void showWhatTheirSuppliersReturn() {
        AtomicLong depth = new AtomicLong(3);
        Subscription gauge = broker.gauge("queue.depth", depth::get);
        broker.gauge("below-zero", () -> -7);
        awaitValue("queue.depth", 3L);
        awaitValue("below-zero", -7L);
        depth.set(4);
        awaitValue("queue.depth", 4L);
        gauge.close();
        gauge.close();
        assertThat(brokers.gauges()).doesNotContainKey("org.acme.count:queue.depth");
        awaitValue("below-zero", -7L);
    }

    @Test
    void areReplacedByTheNextOneOfTheirName() {
        Subscription first = broker.gauge("depth", () -> 1);
        awaitValue("depth", 1L);
        broker.gauge("depth", () -> 2);
        awaitValue("depth", 2L);
        first.close();
        awaitValue("depth", 2L);
    }

    @Test
    void areRefusedBeyondTheLimitAndWithOtherNames() {
        for (int i = 0; i < OwnedGauges.MAX; i++) {
            broker.gauge("gauge-" + i, () -> 1);
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> broker.gauge("one-more", () -> 1))
                .withMessage("org.acme.count 1.2.0 has 64 gauges, and at most as many are possible: one-more is not"
                        + " added; close those that are not needed");
        broker.gauge("gauge-0", () -> 2).close();
        broker.gauge("one-more", () -> 5);
        awaitValue("one-more", 5L);
        for (String name : new String[] {"", "Depth", "a b", "a/b", "a:b", "x".repeat(65)}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> broker.gauge(name, () -> 1))
                    .withMessage("the name of a gauge is 1 to 64 of a-z 0-9 . - _, and not " + name);
        }
    }

    @Test
    void showNothingOfASupplierThatHangsAndTheOthersGoOn() {
        AtomicInteger before = new AtomicInteger();
        AtomicLong after = new AtomicLong();
        AtomicInteger entered = new AtomicInteger();
        broker.gauge("a-before", before::incrementAndGet);
        broker.gauge("hangs", () -> entered.incrementAndGet() == 1 ? 1 : hang());
        broker.gauge("z-after", after::incrementAndGet);
        awaitValue("hangs", 1L);
        Waits.until("it hangs", () -> {
            brokers.gauges();
            return entered.get() >= 2;
        });
        long seen = after.get();
        int seenBefore = before.get();
        Waits.until("the gauges around it are read", () -> {
            brokers.gauges();
            return after.get() > seen + 20 && before.get() > seenBefore + 20;
        });
        assertThat(entered).as("calls of the supplier that hangs").hasValue(2);
        assertThat(brokers.gauges())
                .as("its last value, which is not old yet")
                .containsEntry("org.acme.count:hangs", 1L);
        clock.advance(MAX_AGE.plusMillis(1));
        assertThat(brokers.gauges()).as("values that grew old").doesNotContainKey("org.acme.count:hangs");
        Waits.until("the others have values", () -> brokers.gauges().getOrDefault("org.acme.count:z-after", 0L) > 0);
        assertThat(entered).hasValue(2);
        hanging.countDown();
        awaitValue("hangs", 99L);
    }

    @Test
    void showNothingAfterAnException() {
        AtomicInteger mode = new AtomicInteger(1);
        broker.gauge("throws", () -> switch (mode.get()) {
            case 1 -> 1;
            case 2 -> {
                mode.set(3);
                yield fail();
            }
            default -> hang(); // so that the state after the exception stays
        });
        awaitValue("throws", 1L);
        mode.set(2);
        awaitValue("throws", null);
        assertThat(errors()).isEqualTo(1);
        hanging.countDown();
        awaitValue("throws", 99L);
    }

    @Test
    void endAfterTenExceptionsInARow() {
        AtomicInteger calls = new AtomicInteger();
        AtomicInteger exceptions = new AtomicInteger(OwnedGauges.MAX_FAILURES - 1);
        broker.gauge("throws", () -> {
            calls.incrementAndGet();
            return exceptions.getAndUpdate(left -> Math.max(0, left - 1)) > 0 ? fail() : 11;
        });
        awaitValue("throws", 11L);
        assertThat(errors()).as("one exception less than it may have").isEqualTo(9);
        exceptions.set(Integer.MAX_VALUE);
        Waits.until("it has failed ten times more", () -> {
            brokers.gauges();
            return errors() >= 19;
        });
        int last = calls.get();
        AtomicInteger others = new AtomicInteger();
        broker.gauge("others", others::incrementAndGet);
        Waits.until("others are read", () -> {
            brokers.gauges();
            return others.get() > 20;
        });
        assertThat(calls).as("calls of a closed gauge").hasValue(last);
        assertThat(errors()).isEqualTo(19);
    }

    @Test
    void endWithTheirBundle() {
        AtomicInteger calls = new AtomicInteger();
        WeakReference<LongSupplier> supplier = gaugeThatIsForgotten(calls);
        Waits.until("it is read", () -> {
            brokers.gauges();
            return calls.get() > 0;
        });
        broker.revoke("the bundle has stopped");
        assertThat(brokers.gauges()).isEmpty();
        assertThatIllegalStateException()
                .isThrownBy(() -> broker.gauge("depth", () -> 1))
                .withMessage("the Broker of org.acme.count 1.2.0 is revoked: the bundle has stopped");
        Waits.until("its supplier is unreachable", () -> {
            System.gc();
            return supplier.get() == null;
        });
    }

    private WeakReference<LongSupplier> gaugeThatIsForgotten(AtomicInteger calls) {
        LongSupplier supplier = calls::incrementAndGet;
        broker.gauge("depth", supplier);
        return new WeakReference<>(supplier);
    }

    @Test
    void areCalledWithTheClassLoaderOfTheirSupplier() {
        AtomicInteger right = new AtomicInteger();
        ClassLoader own = OwnedGaugesTest.class.getClassLoader();
        broker.gauge(
                "loader",
                () -> Thread.currentThread().getContextClassLoader() == own
                                && Thread.currentThread().getName().startsWith("org.acme.count-broker-handler-")
                        ? right.incrementAndGet()
                        : fail());
        Waits.until("it is read", () -> {
            brokers.gauges();
            return right.get() > 0;
        });
        assertThat(errors()).isZero();
    }
}
