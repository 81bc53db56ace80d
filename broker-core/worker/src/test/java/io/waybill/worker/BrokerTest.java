package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.PeerListener;
import io.waybill.api.broker.Subscription;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The broker of a program, in a real home. */
@Timeout(120)
class BrokerTest {

    @TempDir
    Path directory;

    private Workers workers;

    @BeforeEach
    void prepare() throws Exception {
        workers = new Workers(directory);
    }

    @AfterEach
    void close() throws Exception {
        workers.close();
    }

    /** Writes down what it is notified of. */
    private static class Recording implements PeerListener {
        final List<String> events = new CopyOnWriteArrayList<>();

        @Override
        public void joined(Incarnation peer) {
            events.add("joined " + peer.worker().name() + " " + peer.epoch());
        }

        @Override
        public void restarted(Incarnation peer, Incarnation previous) {
            events.add("restarted " + peer.worker().name() + " " + previous.epoch() + " " + peer.epoch());
        }

        @Override
        public void lost(Incarnation peer) {
            events.add("lost " + peer.worker().name() + " " + peer.epoch());
        }

        @Override
        public void left(Incarnation peer) {
            events.add("left " + peer.worker().name() + " " + peer.epoch());
        }
    }

    @Test
    void saysWhoItIsAndWhoElseIsThere() throws Exception {
        Worker other = workers.join("other");
        Worker self = workers.join("self");
        Broker broker = self.broker();
        assertThat(broker.self()).isEqualTo(new Incarnation(self.info(), 1));
        Waits.until("the other is there", () -> !broker.peers().isEmpty());
        assertThat(broker.peers()).containsExactly(new Incarnation(other.info(), 1));
    }

    @Test
    void callsOnBehalfOfNoRequest() throws Exception {
        HandlerRegistry registry = workers.registry();
        workers.handle(
                registry, "text.count", (message, outbox) -> outbox.response().int64("words", 6));
        workers.join("server", registry);
        Broker broker = workers.join("client").broker();
        try (Response response = broker.caller().call(Request.operation("server", "text.count"))) {
            assertThat(response.int64("words")).isEqualTo(6);
        }
        try (Response response = broker.caller()
                .callAsync(Request.operation("server", "text.count"))
                .get(20, TimeUnit.SECONDS)) {
            assertThat(response.int64("words")).isEqualTo(6);
        }
        assertThat(broker.rpc().info()).isEqualTo(broker.self().worker());
        assertThatThrownBy(() -> broker.rpc().shutdown(Duration.ZERO)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void isRevokedWhenItsWorkerCloses() throws Exception {
        Worker worker = workers.join("self");
        Broker broker = worker.broker();
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, "text.hang", (message, outbox) -> outbox.later());
        workers.join("server", registry);
        CompletableFuture<Response> inFlight = broker.caller().callAsync(Request.operation("server", "text.hang"));
        worker.close();
        assertThat(inFlight).isCompletedExceptionally();
        assertThatThrownBy(broker::self).hasMessage("the Broker of (program) self is revoked: its worker has closed");
        assertThat(worker.brokers().size()).isZero();
    }

    @Test
    void letsATimerCloseItsWorker() throws Exception {
        Worker worker = workers.join("self");
        CompletableFuture<Void> closed = new CompletableFuture<>();
        worker.broker().schedule(Duration.ZERO, () -> {
            try {
                worker.close();
                closed.complete(null);
            } catch (Exception e) {
                closed.completeExceptionally(e);
            }
        });
        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
        workers.join("self"); // its name is free
    }

    @Test
    void notifiesOfPeersThatComeAndGo() throws Exception {
        Worker self = workers.join("self");
        workers.join("first");
        Recording listener = new Recording();
        Subscription subscription = self.broker().listen(listener);
        Waits.until("first is seen", () -> listener.events.contains("joined first 1"));
        Worker second = workers.join("second");
        Waits.until("second is seen", () -> listener.events.contains("joined second 1"));
        second.close();
        Waits.until("second has left", () -> listener.events.contains("left second 1"));
        workers.join("second").close();
        Waits.until(
                "its next incarnation is seen to come or to have gone",
                () -> listener.events.stream().anyMatch(event -> event.endsWith("second 1 2"))
                        || !self.broker().peers().isEmpty());
        Worker third = Worker.join(
                Home.open(workers.home.path(), workers.host),
                "second",
                JoinOptions.defaults(),
                Workers.SETTINGS,
                workers.registry());
        third.ready(Map.of());
        Waits.until(
                "second is there again",
                () -> listener.events.stream().anyMatch(event -> event.matches("restarted second [12] 3")));
        subscription.close();
        int before = listener.events.size();
        third.close();
        LockSupport.parkNanos(500_000_000);
        assertThat(listener.events).hasSize(before);
    }

    @Test
    void goesOnAfterAListenerThatThrowsOrHangs() throws Exception {
        Worker self = workers.join("self");
        Recording throwing = new Recording() {
            @Override
            public void joined(Incarnation peer) {
                super.joined(peer);
                throw new StackOverflowError("planted");
            }
        };
        CountDownLatch release = new CountDownLatch(1);
        Recording hanging = new Recording() {
            @Override
            public void joined(Incarnation peer) {
                try {
                    release.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                super.joined(peer);
            }
        };
        self.broker().listen(throwing);
        self.broker().listen(hanging);
        Worker first = workers.join("first");
        workers.join("second");
        Waits.until(
                "both are reported", () -> throwing.events.containsAll(List.of("joined first 1", "joined second 1")));
        first.close();
        Waits.until("the end, too", () -> throwing.events.contains("left first 1"));
        assertThat(hanging.events).isEmpty();
        release.countDown();
        Waits.until("it catches up", () -> hanging.events.contains("joined second 1"));
        assertThat(self.brokers().counts().get("(program)/callback-errors")).isEqualTo(2);
    }

    @Test
    void givesIdsThatNoIncarnationGaveBefore() throws Exception {
        Set<Long> seen = new HashSet<>();
        for (int i = 0; i < 3; i++) {
            Worker worker = workers.join("self");
            for (int n = 0; n < 1_000; n++) {
                assertThat(seen.add(worker.broker().nextId()))
                        .as("an id of incarnation %s is new", i + 1)
                        .isTrue();
            }
            worker.close();
        }
    }
}
