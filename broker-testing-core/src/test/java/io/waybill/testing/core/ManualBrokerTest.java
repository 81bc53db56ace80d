package io.waybill.testing.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.PeerListener;
import io.waybill.api.broker.ScheduledTask;
import io.waybill.api.broker.Subscription;
import io.waybill.api.state.StateEntry;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A broker of a test: time and peers are the test's. */
@Timeout(30)
class ManualBrokerTest {

    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final ManualBroker broker = new ManualBroker();
    private final List<String> seen = new ArrayList<>();

    /** Counts lost peers once a minute. */
    private static final class LossReport {
        private final Broker broker;
        private int lost;

        LossReport(Broker broker) {
            this.broker = broker;
            broker.listen(new PeerListener() {
                @Override
                public void lost(Incarnation peer) {
                    lost++;
                }
            });
            broker.schedule(MINUTE, this::report);
        }

        private void report() {
            broker.counter("lost").add(lost);
            lost = 0;
            broker.schedule(MINUTE, this::report);
        }
    }

    @Test
    void testsAComponentWithoutANode() {
        new LossReport(broker);
        broker.join("ps0");
        broker.lose("ps0");
        assertThat(broker.counter("lost").sum()).isZero();
        broker.advance(MINUTE);
        assertThat(broker.counter("lost").sum()).isEqualTo(1);
        assertThat(broker.scheduled()).isEqualTo(1);
    }

    @Test
    void runsTasksInTheirOrderAtTheirTime() {
        broker.schedule(Duration.ofSeconds(2), () -> seen.add("late at " + broker.elapsed()));
        broker.schedule(Duration.ofSeconds(1), () -> {
            seen.add("early at " + broker.elapsed());
            broker.schedule(Duration.ofMillis(500), () -> seen.add("between at " + broker.elapsed()));
        });
        ScheduledTask cancelled = broker.schedule(Duration.ofSeconds(1), () -> seen.add("never"));
        assertThat(cancelled.cancel()).isTrue();
        assertThat(cancelled.cancel()).isFalse();
        broker.advance(Duration.ofMillis(999));
        assertThat(seen).isEmpty();
        broker.advance(MINUTE);
        assertThat(seen).containsExactly("early at PT1S", "between at PT1.5S", "late at PT2S");
    }

    @Test
    void notifiesOfPeers() {
        broker.join("first");
        Subscription subscription = broker.listen(new PeerListener() {
            @Override
            public void joined(Incarnation peer) {
                seen.add("joined " + peer);
            }

            @Override
            public void restarted(Incarnation peer, Incarnation previous) {
                seen.add("restarted " + peer + " after " + previous.epoch());
            }

            @Override
            public void lost(Incarnation peer) {
                seen.add("lost " + peer);
            }

            @Override
            public void left(Incarnation peer) {
                seen.add("left " + peer);
            }
        });
        broker.join("second");
        broker.lose("first");
        broker.join("first");
        broker.leave("second");
        assertThat(seen)
                .containsExactly(
                        "joined first (id 1, epoch 1)",
                        "joined second (id 2, epoch 1)",
                        "lost first (id 1, epoch 1)",
                        "restarted first (id 1, epoch 2) after 1",
                        "left second (id 2, epoch 1)");
        assertThat(broker.peers()).hasSize(1);
        subscription.close();
        broker.lose("first");
        assertThat(seen).hasSize(5);
        assertThatIllegalArgumentException().isThrownBy(() -> broker.lose("first"));
    }

    @Test
    void removesStateByItsPolicy() {
        StateStore store =
                broker.state("responses", new StatePolicy(MINUTE, Duration.ofSeconds(20), StatePolicy.WhenFull.REFUSE));
        store.put("read", Value.of(1));
        store.put("idle", Value.of(2));
        broker.advance(Duration.ofSeconds(19));
        assertThat(store.get("read")).contains(Value.of(1));
        broker.advance(Duration.ofSeconds(1));
        assertThat(store.entries("").stream().map(StateEntry::key)).containsExactly("read");
        assertThat(store.usage().evicted()).isEqualTo(1);
        assertThat(broker.state("responses").compute("read", old -> Optional.of(Value.of(3))))
                .contains(Value.of(3));
        assertThat(store.compareAndSet("read", Value.of(1), Value.of(4))).isFalse();
        assertThat(store.remove("read", Value.of(3))).isTrue();
    }

    @Test
    void syncsTheStoresThatAWorkerHasOnDisk() {
        StateStore kept = broker.state("kept", StatePolicy.KEEP.onDisk());
        kept.put("a", Value.of(1));
        kept.sync();
        kept.forEach("", (key, value) -> seen.add(key + value));
        assertThat(seen).containsExactly("a" + Value.of(1));
        assertThatIllegalStateException()
                .isThrownBy(broker.state("responses")::sync)
                .withMessageContaining("expected StatePolicy.onDisk() to sync it");
    }

    @Test
    void readsGauges() {
        broker.gauge("depth", seen::size);
        seen.add("one");
        assertThat(broker.readGauge("depth")).isEqualTo(1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> broker.readGauge("length"))
                .withMessage("expected one of the gauges [depth], found length");
        broker.gauge("depth", () -> 7).close();
        assertThatIllegalArgumentException().isThrownBy(() -> broker.readGauge("depth"));
    }

    @Test
    void endsAsTheBundleDoes() {
        StateStore store = broker.state("responses");
        broker.schedule(MINUTE, () -> seen.add("never"));
        broker.revoke();
        broker.advance(MINUTE);
        assertThat(seen).isEmpty();
        assertThatIllegalStateException().isThrownBy(broker::nextId);
        assertThatIllegalStateException().isThrownBy(() -> store.put("a", Value.NONE));
    }

    @Test
    void callsOnlyThroughTheCallerOfTheTest() {
        assertThatThrownBy(broker::caller).isInstanceOf(UnsupportedOperationException.class);
    }
}
