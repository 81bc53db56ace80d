package io.waybill.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Counter;
import io.waybill.api.broker.PeerListener;
import io.waybill.api.broker.ScheduledTask;
import io.waybill.api.broker.Subscription;
import io.waybill.dispatch.Provider;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.testing.core.Waits;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What an owner has ends with it, whatever its code does. */
@Timeout(60)
class OwnedBrokerTest {

    private static final Provider OWNER = new Provider("org.acme.count", "1.2.0");
    private static final String REVOKED = "the Broker of org.acme.count 1.2.0 is revoked: the bundle has stopped";

    private final TestBackend backend = new TestBackend();
    private final Brokers brokers = new Brokers(backend, Host.real());
    private final OwnedBroker broker = brokers.open(OWNER);

    @AfterEach
    void close() {
        brokers.close();
    }

    private void revoke() {
        broker.revoke("the bundle has stopped");
    }

    /** Foreign code that does what it must not. */
    record Misdeed(String name, Runnable code) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Misdeed> misdeeds() {
        return Stream.of(
                new Misdeed("throws a RuntimeException", () -> {
                    throw new IllegalArgumentException("planted");
                }),
                new Misdeed("throws an Error", () -> {
                    throw new StackOverflowError("planted");
                }),
                new Misdeed("throws an exception whose message throws", () -> {
                    throw new IllegalStateException() {
                        private static final long serialVersionUID = 1L;

                        @Override
                        public String getMessage() {
                            throw new IllegalStateException("in the message");
                        }
                    };
                }),
                new Misdeed("hangs, and ignores interrupts", () -> {
                    long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
                    while (System.nanoTime() - untilNs < 0) {
                        LockSupport.parkNanos(1_000_000);
                        Thread.interrupted();
                    }
                }),
                new Misdeed("leaves an interrupt", () -> Thread.currentThread().interrupt()));
    }

    @ParameterizedTest
    @MethodSource("misdeeds")
    void aScheduledTaskCostsOnlyItself(Misdeed misdeed) throws Exception {
        CountDownLatch others = new CountDownLatch(20);
        for (int i = 0; i < 20; i++) {
            broker.schedule(Duration.ofMillis(1), misdeed.code);
            broker.schedule(Duration.ofMillis(1), others::countDown);
        }
        assertThat(others.await(20, TimeUnit.SECONDS)).isTrue();
        long beforeNs = System.nanoTime();
        revoke();
        assertThat(Duration.ofNanos(System.nanoTime() - beforeNs)).isLessThan(Duration.ofSeconds(4));
        assertThat(brokers.size()).isZero();
    }

    @Test
    void aTaskThatIsDueEarlierEndsTheWaitForALaterOne() throws Exception {
        broker.schedule(Duration.ofHours(1), () -> {});
        Waits.until("the timers' thread waits for the later task", OwnedBrokerTest::timersRest);
        CountDownLatch earlier = new CountDownLatch(1);
        broker.schedule(Duration.ofMillis(1), earlier::countDown);
        Waits.until("the task that is due earlier has run", () -> earlier.getCount() == 0);
    }

    private static boolean timersRest() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread ->
                        thread.getName().endsWith("-timers") && thread.getState() == Thread.State.TIMED_WAITING);
    }

    @ParameterizedTest
    @MethodSource("misdeeds")
    void aListenerOfAnOutcomeCostsOnlyItself(Misdeed misdeed) {
        AtomicInteger failed = new AtomicInteger();
        List<CompletableFuture<Response>> futures = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            broker.caller().call(Request.operation("peer", "text.count"), failing(failure -> misdeed.code.run()));
            CompletableFuture<Response> hung = broker.caller().callAsync(Request.operation("peer", "text.count"));
            hung.whenComplete((response, failure) -> failed.incrementAndGet());
            futures.add(hung);
        }
        revoke();
        assertThat(futures).allSatisfy(future -> assertThat(future).isCompletedExceptionally());
        assertThat(failed).hasValue(3);
        backend.listeners.forEach(each -> each.onFailure(null)); // late: the owner is gone
    }

    @Test
    void countsAndLogsWhatCallbacksThrow() {
        for (int i = 0; i < 3; i++) {
            broker.schedule(Duration.ZERO, () -> {
                throw new AssertionError("planted");
            });
        }
        Waits.until("3 errors", () -> brokers.counts().get("org.acme.count/callback-errors") == 3);
    }

    @Test
    void failsEveryUseOnceItIsRevoked() {
        var caller = broker.caller();
        revoke();
        List<Consumer<Broker>> uses = List.of(
                Broker::self,
                Broker::caller,
                Broker::rpc,
                Broker::peers,
                Broker::nextId,
                each -> each.counter("n"),
                each -> each.gauge("n", () -> 1),
                each -> each.listen(new PeerListener() {}),
                each -> each.schedule(Duration.ZERO, () -> {}));
        for (Consumer<Broker> use : uses) {
            assertThatThrownBy(() -> use.accept(broker))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage(REVOKED);
        }
        Request request = Request.operation("peer", "text.count");
        List<Runnable> calls = List.of(() -> caller.call(request), () -> caller.call(request, failing(failure -> {})));
        for (Runnable call : calls) {
            CallException failure = catchThrowableOfType(CallException.class, call::run);
            assertThat(failure).hasMessage(REVOKED);
            assertThat(failure.code()).isEqualTo(ErrorCode.CLOSED);
        }
        assertThat(caller.callAsync(request))
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(
                        CallException.class,
                        failure -> assertThat(failure.code()).isEqualTo(ErrorCode.CLOSED))
                .withMessage(REVOKED);
        revoke(); // once more does nothing
    }

    @Test
    void failsCallsInFlight() {
        List<String> failures = new ArrayList<>();
        CompletableFuture<Response> future = broker.caller().callAsync(Request.operation("peer", "text.count"));
        broker.caller()
                .call(Request.operation("peer", "text.count"), failing(failure -> failures.add(failure.getMessage())));
        revoke();
        assertThat(future).isCompletedExceptionally();
        assertThatThrownBy(future::join).hasCauseInstanceOf(CallException.class).hasMessageContaining(REVOKED);
        assertThat(failures).containsExactly(REVOKED);
        backend.listeners.get(0).onFailure(null);
        assertThat(failures).hasSize(1);
    }

    @Test
    void letsGoOfEverythingOfItsOwner() {
        List<WeakReference<Object>> owned = new ArrayList<>();
        fill(owned);
        assertThat(owned).allSatisfy(each -> assertThat(each.get()).isNotNull());
        revoke();
        Waits.until("everything is collected", () -> {
            System.gc();
            return owned.stream().allMatch(each -> each.get() == null);
        });
        assertThat(backend.futures).hasSize(1); // which the worker still has, as its table of calls would
        assertThat(backend.listeners).hasSize(1);
    }

    /** Apart, so that no local variable holds what it makes. */
    private void fill(List<WeakReference<Object>> owned) {
        Object[] marks = new Object[4];
        for (int i = 0; i < marks.length; i++) {
            marks[i] = new Object();
            owned.add(new WeakReference<>(marks[i]));
        }
        Object first = marks[0];
        Object second = marks[1];
        Object third = marks[2];
        Object fourth = marks[3];
        broker.schedule(Duration.ofHours(1), first::hashCode);
        broker.listen(new PeerListener() {
            @Override
            public String toString() {
                return second.toString();
            }
        });
        broker.caller().call(Request.operation("peer", "text.count"), failing(failure -> third.hashCode()));
        CompletableFuture<Response> future = broker.caller().callAsync(Request.operation("peer", "text.count"));
        future.whenComplete((response, failure) -> fourth.hashCode());
    }

    @Test
    void runsTasksByTheInjectedClockInTheOrderOfTheirTimes() {
        ManualClock clock = new ManualClock();
        try (Brokers others = new Brokers(backend, Host.real().withClock(clock))) {
            OwnedBroker timed = others.open(OWNER);
            AtomicInteger runs = new AtomicInteger();
            ScheduledTask late = timed.schedule(Duration.ofSeconds(20), runs::incrementAndGet);
            ScheduledTask early = timed.schedule(Duration.ofSeconds(10), runs::incrementAndGet);
            timed.schedule(Duration.ofNanos(Long.MAX_VALUE), runs::incrementAndGet);
            timed.schedule(Duration.ofSeconds(-5), runs::incrementAndGet);
            Waits.until("the one without a delay", () -> runs.get() == 1);
            LockSupport.parkNanos(50_000_000);
            assertThat(early.isScheduled()).isTrue();
            clock.advance(Duration.ofSeconds(10).minusMillis(1));
            timed.schedule(Duration.ZERO, () -> {}); // a manual clock wakes no thread
            assertThat(early.isScheduled()).isTrue();
            clock.advance(Duration.ofMillis(1));
            Waits.until("the early one", () -> runs.get() == 2);
            assertThat(early.isScheduled()).isFalse();
            assertThat(late.cancel()).isTrue();
            assertThat(late.cancel()).isFalse();
            assertThat(early.cancel()).isFalse();
            clock.advance(Duration.ofSeconds(10));
            timed.schedule(Duration.ZERO, runs::incrementAndGet);
            Waits.until("the last", () -> runs.get() == 3);
        }
    }

    @Test
    void runsTasksOfAnotherOwnerWhileTheseThreadsAllHang() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        for (int i = 0; i < 2 * OwnerThreads.MAX_CALLBACKS; i++) {
            broker.schedule(Duration.ZERO, () -> awaitQuietly(release));
        }
        AtomicInteger own = new AtomicInteger();
        broker.schedule(Duration.ZERO, own::incrementAndGet);
        CountDownLatch other = new CountDownLatch(1);
        brokers.open(new Provider("org.other", "1.0.0")).schedule(Duration.ofMillis(100), other::countDown);
        assertThat(other.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(own).hasValue(0); // behind those that hang
        release.countDown();
        Waits.until("its own runs when a thread is free", () -> own.get() == 1);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void canBeRevokedByItsOwnCallback() throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        AtomicReference<Boolean> interrupted = new AtomicReference<>();
        broker.schedule(Duration.ZERO, () -> {
            revoke();
            interrupted.set(Thread.currentThread().isInterrupted());
            done.countDown();
        });
        assertThat(done.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(interrupted).hasValue(false);
    }

    @Test
    void boundsWhatAnOwnerMayHave() {
        for (int i = 0; i < 10_000; i++) {
            broker.schedule(Duration.ofHours(1), () -> {});
        }
        assertThatThrownBy(() -> broker.schedule(Duration.ofHours(1), () -> {}))
                .hasMessageContaining("10000 scheduled tasks");
        Subscription last = null;
        for (int i = 0; i < 1_000; i++) {
            last = broker.listen(new PeerListener() {});
        }
        assertThatThrownBy(() -> broker.listen(new PeerListener() {})).hasMessageContaining("1000 subscriptions");
        last.close();
        last.close();
        broker.listen(new PeerListener() {});
        for (int i = 0; i < 256; i++) {
            broker.counter("n" + i);
        }
        assertThatThrownBy(() -> broker.counter("more")).hasMessageContaining("256 counters");
        assertThatThrownBy(() -> broker.counter("Not a name")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void keepsCountsAcrossUpdates() {
        Counter counter = broker.counter("words");
        counter.add(3);
        counter.increment();
        assertThatThrownBy(() -> counter.add(-1)).isInstanceOf(IllegalArgumentException.class);
        revoke();
        Counter again = brokers.open(new Provider("org.acme.count", "2.0.0")).counter("words");
        again.increment();
        assertThat(again.sum()).isEqualTo(5);
        assertThat(brokers.counts()).containsEntry("org.acme.count/words", 5L);
    }

    private static ResponseListener failing(Consumer<CallException> onFailure) {
        return new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                throw new AssertionError("no response is given here");
            }

            @Override
            public void onFailure(CallException failure) {
                onFailure.accept(failure);
            }
        };
    }

    @Test
    void hasTheClockOfItsHost() {
        long beforeNs = Host.real().clock().wallNs();
        Duration sinceBefore = Duration.between(
                Instant.EPOCH.plusNanos(beforeNs), broker.clock().instant());
        assertThat(sinceBefore).isBetween(Duration.ofSeconds(-60), Duration.ofSeconds(60));
        revoke();
        assertThatThrownBy(broker::clock)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(REVOKED);
    }

    /** In a replay, a subscription's comparison may come while the handler of any call runs, which has read nothing. */
    @Test
    void notesPeersThatItsOwnerReadsButNotThoseThatASubscriptionCompares() {
        broker.listen(new PeerListener() {});
        Waits.until("the workers are compared", () -> backend.comparisons.get() > 0);
        assertThat(backend.unrecorded).isEmpty();
        broker.peers();
        assertThat(backend.unrecorded).containsExactly("the peers that Broker.peers() returned");
    }
}
