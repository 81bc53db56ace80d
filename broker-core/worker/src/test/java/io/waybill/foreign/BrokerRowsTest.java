package io.waybill.foreign;

import static io.waybill.foreign.ForeignNode.CULPRIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.Value;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.PeerListener;
import io.waybill.api.broker.ScheduledTask;
import io.waybill.api.broker.Subscription;
import io.waybill.api.state.StateStore;
import io.waybill.broker.OwnedBroker;
import io.waybill.dispatch.Provider;
import io.waybill.home.JoinedProcess;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a bundle gives to its Broker, and what it keeps of it after its end. */
@Timeout(300)
class BrokerRowsTest {

    private static final Provider OTHER = new Provider("org.acme.other", "1.0.0");

    @TempDir
    private static Path directory;

    private static ForeignNode node;

    @BeforeAll
    static void join() throws IOException {
        node = new ForeignNode(directory);
    }

    @AfterAll
    static void leave() throws IOException {
        node.close();
    }

    static Stream<Row> peers() {
        return Row.of(PeerListener.class).filter(row -> !row.method().equals("lost"));
    }

    @ParameterizedTest
    @MethodSource("peers")
    void aPeerListenerCostsOnlyItself(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        AtomicInteger others = new AtomicInteger();
        OwnedBroker broker = node.server.brokers().open(CULPRIT);
        OwnedBroker other = node.server.brokers().open(OTHER);
        long before = node.handlers.errors().of(CULPRIT.name());
        try {
            String name = "peer-" + row.method() + "-" + row.how().name().toLowerCase(Locale.ROOT);
            broker.listen(new Listening(culprit));
            other.listen(new Counting(name, others));
            Worker first = node.workers.join(name);
            Waits.until(row + ": another listener is notified", () -> others.get() > 0);
            first.close();
            Waits.until(row + ": another listener is notified of the end", () -> others.get() > 1);
            if (row.method().equals("left")) { // before the restart, which would take its place
                Waits.until(row + ": it misbehaves", () -> culprit.happened() > 0);
            }
            Worker second = node.workers.join(name);
            Waits.until(row + ": another listener is notified of the restart", () -> others.get() > 2);
            Waits.until(row + ": it misbehaves", () -> culprit.happened() > 0);
            second.close();
            node.othersAreServed(row);
        } finally {
            culprit.letGo();
            broker.revoke("the test is over");
            other.revoke("the test is over");
        }
        ForeignNode.isCharged(row, node.handlers, before);
        assertThat(node.server.brokers().size()).as("%s: brokers", row).isLessThanOrEqualTo(1); // the program's
        node.everythingIsBack(row);
    }

    /** The loss of a worker takes a process that dies. */
    static Stream<Row> losses() {
        return Row.of(PeerListener.class).filter(row -> row.method().equals("lost"));
    }

    @ParameterizedTest
    @MethodSource("losses")
    void aPeerListenerThatIsNotifiedOfALossCostsOnlyItself(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        Set<String> lost = ConcurrentHashMap.newKeySet();
        Set<String> joined = ConcurrentHashMap.newKeySet();
        OwnedBroker broker = node.server.brokers().open(CULPRIT);
        OwnedBroker other = node.server.brokers().open(OTHER);
        long before = node.handlers.errors().of(CULPRIT.name());
        try (JoinedProcess process =
                JoinedProcess.start(node.workers.home.path()).awaitReady()) {
            Listening listening = new Listening(culprit);
            Subscription subscription = broker.listen(listening);
            other.listen(new PeerListener() {
                @Override
                public void joined(Incarnation peer) {
                    joined.add(peer.worker().name());
                }

                @Override
                public void lost(Incarnation peer) {
                    lost.add(peer.worker().name());
                }
            });
            String name = "lost-" + row.how().name().toLowerCase(Locale.ROOT);
            process.say(name);
            assertThat(process.response()).startsWith("joined ");
            Waits.until( // a listener that has not seen the worker is not notified of its loss
                    row + ": both listeners are notified that the worker is there",
                    () -> joined.contains(name) && listening.joined.contains(name));
            process.killHard();
            Waits.until(row + ": another listener is notified", () -> lost.contains(name));
            Waits.until(row + ": it misbehaves", () -> culprit.happened() > 0);
            node.othersAreServed(row);
            subscription.close();
            subscription.close();
        } finally {
            culprit.letGo();
            broker.revoke("the test is over");
            other.revoke("the test is over");
        }
        ForeignNode.isCharged(row, node.handlers, before);
        assertThat(culprit.happened()).as("%s: notifications of one loss", row).isEqualTo(1);
        node.everythingIsBack(row);
    }

    /** Counts what happens to one worker: those of earlier rows may still be leaving. */
    private record Counting(String name, AtomicInteger count) implements PeerListener {
        @Override
        public void joined(Incarnation peer) {
            count(peer);
        }

        @Override
        public void restarted(Incarnation peer, Incarnation previous) {
            count(peer);
        }

        @Override
        public void left(Incarnation peer) {
            count(peer);
        }

        private void count(Incarnation peer) {
            if (peer.worker().name().equals(name)) {
                count.incrementAndGet();
            }
        }
    }

    private record Listening(Culprit culprit, Set<String> joined) implements PeerListener {
        Listening(Culprit culprit) {
            this(culprit, ConcurrentHashMap.newKeySet());
        }

        @Override
        public void joined(Incarnation peer) {
            joined.add(peer.worker().name());
            culprit.in("joined", this);
        }

        @Override
        public void restarted(Incarnation peer, Incarnation previous) {
            culprit.in("restarted", this);
        }

        @Override
        public void lost(Incarnation peer) {
            culprit.in("lost", this);
        }

        @Override
        public void left(Incarnation peer) {
            culprit.in("left", this);
        }
    }

    static Stream<Row> tasks() {
        return Row.of(Runnable.class);
    }

    @ParameterizedTest
    @MethodSource("tasks")
    void aScheduledTaskCostsOnlyItself(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        OwnedBroker broker = node.server.brokers().open(CULPRIT);
        long before = node.handlers.errors().of(CULPRIT.name());
        CountDownLatch other = new CountDownLatch(1);
        ScheduledTask task = broker.schedule(Duration.ZERO, () -> culprit.in("run", row));
        Waits.until(row + ": it misbehaves", () -> culprit.happened() > 0);
        broker.schedule(Duration.ofMillis(1), other::countDown);
        assertThat(other.await(60, TimeUnit.SECONDS))
                .as("%s: another task", row)
                .isTrue();
        node.othersAreServed(row);
        culprit.letGo();
        broker.revoke("the test is over");
        ForeignNode.isCharged(row, node.handlers, before);
        assertThat(task.cancel()).as("%s: cancelled after its end", row).isFalse();
        assertThat(task.isScheduled()).isFalse();
        assertThat(culprit.happened()).isEqualTo(1);
    }

    static Stream<Row> gauges() {
        return Row.of(LongSupplier.class);
    }

    @ParameterizedTest
    @MethodSource("gauges")
    void aGaugeCostsOnlyItself(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        OwnedBroker broker = node.server.brokers().open(CULPRIT);
        long before = node.handlers.errors().of(CULPRIT.name());
        AtomicInteger others = new AtomicInteger();
        try {
            broker.gauge("culprit", () -> culprit.in("getAsLong", 7L));
            broker.gauge("other", others::incrementAndGet);
            Waits.until(row + ": it misbehaves", () -> culprit.happened() > 0);
            int seen = others.get();
            Waits.until(row + ": another gauge is read", () -> others.get() > seen);
            Waits.until(row + ": it is published", () -> published("other").orElse(0L) > seen);
            node.othersAreServed(row);
        } finally {
            culprit.letGo();
            broker.revoke("the test is over");
        }
        ForeignNode.isCharged(row, node.handlers, before);
        Waits.until(row + ": it is gone", () -> published("other").isEmpty());
        int last = culprit.happened();
        node.othersAreServed(row);
        assertThat(culprit.happened())
                .as("%s: calls after the end of its bundle", row)
                .isEqualTo(last);
    }

    private static Optional<Long> published(String gauge) throws IOException {
        return node.server.metrics().read().stream()
                .filter(each -> each.worker().equals(node.server.info()))
                .findFirst()
                .map(each -> each.values().get(CULPRIT.name() + ":" + gauge));
    }

    static Stream<Row> functions() {
        return Row.of(Function.class).filter(row -> row.method().equals("apply"));
    }

    @ParameterizedTest
    @MethodSource("functions")
    void aFunctionOfAStoreCostsOnlyItsOwnThread(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        OwnedBroker broker = node.server.brokers().open(CULPRIT);
        StateStore store = broker.state("row");
        store.put("key", Value.of(1));
        AtomicInteger outcomes = new AtomicInteger();
        Thread program = new Thread(
                () -> {
                    catchThrowable(() ->
                            store.compute("key", value -> culprit.in("apply", Optional.of(Value.of(2)), value)));
                    outcomes.incrementAndGet();
                },
                "program of " + row);
        program.start();
        Waits.until(row + ": it misbehaves", () -> culprit.happened() > 0);
        store.put("other", Value.of(5)); // no lock is held meanwhile
        assertThat(store.get("other")).contains(Value.of(5));
        culprit.letGo();
        Waits.until(row + ": it returns", () -> outcomes.get() == 1);
        assertThat(store.get("key"))
                .as("%s: what a function that failed has changed", row)
                .contains(Value.of(row.how() == Misbehaviour.HANG ? 2 : 1));
        store.clear();
        broker.revoke("the test is over");
        assertThat(catchThrowable(() -> store.get("key"))).isInstanceOf(IllegalStateException.class);
        node.othersAreServed(row);
    }

    @Test
    void aFunctionThatChangesItsOwnKeyEnds() {
        OwnedBroker broker = node.server.brokers().open(CULPRIT);
        StateStore store = broker.state("recursive");
        AtomicInteger calls = new AtomicInteger();
        assertThat(catchThrowable(() -> store.compute("key", value -> {
                    store.put("key", Value.of(calls.incrementAndGet()));
                    return Optional.of(Value.of(-1));
                })))
                .isInstanceOf(IllegalStateException.class);
        assertThat(store.get("key")).contains(Value.of(calls.get()));
        broker.revoke("the test is over");
    }

    @Test
    void whatIsKeptOfABrokerEndsWithIt() {
        OwnedBroker broker = node.server.brokers().open(CULPRIT);
        AtomicInteger notified = new AtomicInteger();
        Subscription subscription = broker.listen(new Counting("caller", notified));
        ScheduledTask task = broker.schedule(Duration.ofHours(1), notified::incrementAndGet);
        broker.revoke("the test is over");
        int before = notified.get();
        subscription.close();
        subscription.close();
        assertThat(task.cancel()).isFalse();
        assertThat(task.cancel()).isFalse();
        assertThat(task.isScheduled()).isFalse();
        assertThat(catchThrowable(() -> broker.listen(new Counting("caller", notified))))
                .isInstanceOf(IllegalStateException.class);
        assertThat(catchThrowable(() -> broker.schedule(Duration.ZERO, notified::incrementAndGet)))
                .isInstanceOf(IllegalStateException.class);
        node.othersAreServed("a revoked broker");
        assertThat(notified.get()).isEqualTo(before);
    }
}
