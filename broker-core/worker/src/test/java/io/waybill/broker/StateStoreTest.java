package io.waybill.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.RRef;
import io.waybill.api.Value;
import io.waybill.api.state.StateEntry;
import io.waybill.api.state.StateFullException;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StatePolicy.WhenFull;
import io.waybill.api.state.StateStore;
import io.waybill.api.state.StateUsage;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.dispatch.Provider;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** State stays while its owner is replaced, within limits, and holds nothing of the owner's classes. */
@Timeout(60)
class StateStoreTest {

    private final ManualClock clock = new ManualClock();
    private final Brokers brokers = new Brokers(new TestBackend(), Host.real().withClock(clock));
    private final OwnedBroker broker = brokers.open(new Provider("org.acme.cache", "1.0.0"));
    private final StateStore store = broker.state("responses");

    @AfterEach
    void close() {
        brokers.close();
    }

    static Stream<Value> values() {
        return Stream.of(
                Value.NONE,
                Value.of(true),
                Value.of(-1),
                Value.of(0.5),
                new Value.Complex(1, 2),
                Value.of("text"),
                Value.of(new byte[] {1, 2}),
                Value.list(Value.of(1), Value.list()),
                Value.tuple(Value.of("a"), Value.NONE),
                new Value.Dict(Map.of(Value.of("k"), Value.ints(1, 2, 3))),
                Value.of(Device.CPU),
                Value.of(DType.FLOAT32));
    }

    @ParameterizedTest
    @MethodSource("values")
    void holdsEveryPlainValue(Value value) {
        store.put("key", value);
        assertThat(store.get("key")).contains(value);
        assertThat(store.usage().bytes()).isPositive();
        assertThat(store.remove("key")).isTrue();
        assertThat(store.usage()).isEqualTo(new StateUsage(0, 0, 0));
    }

    static Stream<Value> refused() {
        RRef reference = (RRef) Proxy.newProxyInstance(
                StateStoreTest.class.getClassLoader(), new Class<?>[] {RRef.class}, (proxy, method, arguments) -> null);
        Value deep = Value.NONE;
        for (int i = 0; i < 100_000; i++) {
            deep = new Value.Items(List.of(deep));
        }
        return Stream.of(Value.of(reference), Value.list(Value.tuple(Value.of(reference))), deep);
    }

    @Test
    void refusesWhatIsNotPlain() {
        refused().forEach(value -> {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> store.put("key", value))
                    .withMessageStartingWith("a state holds");
            assertThatIllegalArgumentException().isThrownBy(() -> store.compareAndSet("key", value, Value.NONE));
        });
        for (String key : List.of("", "k".repeat(StateStore.MAX_KEY_LENGTH + 1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> store.get(key))
                    .withMessageContaining("a key is");
        }
        assertThatIllegalArgumentException().isThrownBy(() -> broker.state("No Name"));
        assertThat(store.usage().entries()).isZero();
    }

    @Test
    void givesEachEntryAsItWasAndNotAsAUse() {
        store.put("a1", Value.of(1));
        store.put("a2", Value.of(2));
        store.put("b", Value.of(3));
        List<String> seen = new ArrayList<>();
        store.forEach("a", (key, value) -> {
            seen.add(key + " = " + value);
            store.put("a3", Value.of(4)); // neither is seen
            store.remove("a2");
        });
        assertThat(seen).containsExactly("a1 = " + Value.of(1), "a2 = " + Value.of(2));
        clock.advance(Duration.ofSeconds(1));
        store.get("b");
        store.forEach("", (key, value) -> {});
        store.evictIdle(Duration.ofSeconds(1));
        assertThat(store.usage().entries()).as("entries that were used").isOne();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> store.forEach("", (key, value) -> {
                    throw new IllegalArgumentException("by the action");
                }))
                .withMessage("by the action");
    }

    @Test
    void sharesNoArrayWithItsOwner() {
        byte[] bytes = {1};
        store.put("key", new Value.Binary(bytes));
        bytes[0] = 2;
        assertThat(store.get("key")).contains(Value.of(new byte[] {1}));
    }

    @Test
    void changesAtomically() throws Exception {
        assertThat(store.putIfAbsent("count", Value.of(0))).isTrue();
        assertThat(store.putIfAbsent("count", Value.of(9))).isFalse();
        assertThat(store.compareAndSet("count", Value.of(9), Value.of(1))).isFalse();
        assertThat(store.compareAndSet("none", Value.of(9), Value.of(1))).isFalse();
        assertThat(store.remove("count", Value.of(9))).isFalse();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int n = 0; n < 1_000; n++) {
                    store.compute("count", StateStoreTest::incremented);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(store.get("count")).contains(Value.of(4_000));
        assertThat(store.remove("count", Value.of(4_000))).isTrue();
    }

    private static Optional<Value> incremented(Optional<Value> before) {
        return Optional.of(Value.of(((Value.Int) before.orElseThrow()).value() + 1));
    }

    @Test
    void isLeftAsItWasByAFunctionThatFails() {
        store.put("key", Value.of(1));
        for (Throwable planted : List.of(new IllegalStateException("planted"), new StackOverflowError("planted"))) {
            assertThatThrownBy(() -> store.compute("key", before -> {
                        throw planted instanceof Error error ? sneaky(error) : (RuntimeException) planted;
                    }))
                    .isSameAs(planted);
        }
        assertThatThrownBy(() -> store.compute("key", before -> null)).isInstanceOf(NullPointerException.class);
        assertThat(store.get("key")).contains(Value.of(1));
        assertThat(store.compute("key", before -> {
                    if (before.equals(Optional.of(Value.of(1)))) {
                        store.put("key", Value.of(2)); // while it computes: it is called once more
                    }
                    return before;
                }))
                .contains(Value.of(2));
        assertThatThrownBy(() -> store.compute("key", before -> {
                    store.put("key", Value.NONE);
                    return before;
                }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("the function may change it itself");
        assertThat(store.compute("key", before -> Optional.empty())).isEmpty();
        assertThat(store.usage().entries()).isZero();
    }

    private static RuntimeException sneaky(Error error) {
        throw error;
    }

    @Test
    void survivesItsOwnersNextVersionAndIsHiddenFromOthers() {
        store.put("key", Value.of("kept"));
        broker.revoke("the bundle has stopped");
        OwnedBroker next = brokers.open(new Provider("org.acme.cache", "2.0.0"));
        assertThat(next.state("responses").get("key")).contains(Value.of("kept"));
        assertThat(next.state("others").get("key")).isEmpty();
        OwnedBroker other = brokers.open(new Provider("org.acme.other", "1.0.0"));
        assertThat(other.state("responses").get("key")).isEmpty();
        assertThat(brokers.states())
                .extracting(status -> status.owner() + " " + status.store() + " "
                        + status.usage().entries())
                .containsExactlyInAnyOrder(
                        "org.acme.cache responses 1", "org.acme.cache others 0", "org.acme.other responses 0");
    }

    @Test
    void failsEveryUseOnceItsBrokerIsRevoked() {
        broker.revoke("the bundle has stopped");
        List<Consumer<StateStore>> uses = List.of(
                each -> each.get("k"),
                each -> each.put("k", Value.NONE),
                each -> each.putIfAbsent("k", Value.NONE),
                each -> each.compareAndSet("k", Value.NONE, Value.NONE),
                each -> each.compute("k", before -> before),
                each -> each.remove("k"),
                each -> each.remove("k", Value.NONE),
                StateStore::clear,
                StateStore::sync,
                each -> each.forEach("", (key, value) -> {}),
                each -> each.evictIdle(Duration.ZERO),
                each -> each.entries(""),
                StateStore::usage);
        for (Consumer<StateStore> use : uses) {
            assertThatThrownBy(() -> use.accept(store))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the Broker of org.acme.cache 1.0.0 is revoked: the bundle has stopped");
        }
    }

    @Test
    void boundsTheBytesOfAnOwner() {
        Value large = Value.of(new byte[1 << 20]);
        for (int i = 0; i < 63; i++) {
            broker.state("s" + i % 3).put("key" + i, large);
        }
        assertThatExceptionOfType(StateFullException.class)
                .isThrownBy(() -> store.put("more", large))
                .withMessageContaining("org.acme.cache")
                .withMessageContaining("67108864 bytes");
        assertThatExceptionOfType(StateFullException.class)
                .isThrownBy(() -> store.put("huge", Value.of(new byte[(int) StateStore.MAX_BYTES])));
        broker.state("s0").put("key0", large); // replaced: it needs no more room
        brokers.open(new Provider("org.acme.other", "1.0.0")).state("s").put("key", large); // a room of its own
        assertThat(broker.state("s0").clear()).isEqualTo(21);
        store.put("more", large);
    }

    @Test
    void boundsTheEntriesOfAnOwner() {
        for (int i = 0; i < StateStore.MAX_ENTRIES; i++) {
            store.put("k" + i, Value.NONE);
        }
        assertThatExceptionOfType(StateFullException.class).isThrownBy(() -> store.put("more", Value.NONE));
        store.put("k1", Value.of(1));
        assertThatExceptionOfType(StateFullException.class)
                .isThrownBy(() -> broker.state("other", new StatePolicy(Duration.ZERO, Duration.ZERO, WhenFull.EVICT))
                        .put("more", Value.NONE)); // which evicts of its own alone
        broker.state("responses", new StatePolicy(Duration.ZERO, Duration.ZERO, WhenFull.EVICT));
        store.get("k0");
        store.put("more", Value.NONE);
        assertThat(store.get("k0")).as("used").isPresent();
        assertThat(store.get("k1")).as("set later").isPresent();
        assertThat(store.get("k2")).as("the least recently used").isEmpty();
        assertThat(store.usage().evicted()).isEqualTo(1);
    }

    @Test
    void expiresByAgeAndByIdleTime() {
        StateStore aging =
                broker.state("aging", new StatePolicy(Duration.ofSeconds(10), Duration.ZERO, WhenFull.REFUSE));
        StateStore idle = broker.state("idle", new StatePolicy(Duration.ZERO, Duration.ofSeconds(10), WhenFull.REFUSE));
        for (StateStore each : List.of(aging, idle, store)) {
            each.put("read", Value.NONE);
            each.put("unread", Value.NONE);
        }
        clock.advance(Duration.ofSeconds(6));
        for (StateStore each : List.of(aging, idle, store)) {
            assertThat(each.get("read")).isPresent();
        }
        clock.advance(Duration.ofSeconds(6));
        assertThat(aging.get("read")).isEmpty();
        assertThat(idle.entries("")).extracting(StateEntry::key).containsExactly("read");
        assertThat(aging.usage().entries()).as("found by no look yet").isEqualTo(1);
        brokers.look();
        assertThat(aging.usage()).isEqualTo(new StateUsage(0, 0, 2));
        assertThat(store.entries("un"))
                .containsExactly(new StateEntry(
                        "unread", store.entries("un").get(0).bytes(), Duration.ofSeconds(12), Duration.ofSeconds(12)));
        assertThat(store.evictIdle(Duration.ofSeconds(7))).isEqualTo(1);
        assertThat(store.get("read")).isPresent();
    }

    @Test
    void countsWhatItHolds() {
        Map<String, Integer> sizes = new LinkedHashMap<>();
        AtomicInteger number = new AtomicInteger();
        values().forEach(value -> {
            String key = "k" + number.getAndIncrement();
            store.put(key, value);
            store.put(key, Value.list(value, value));
            sizes.put(key, 1);
        });
        assertThat(store.usage().bytes())
                .isEqualTo(
                        store.entries("").stream().mapToLong(StateEntry::bytes).sum());
        assertThat(store.clear()).isEqualTo(sizes.size());
        assertThat(store.usage().bytes()).isZero();
    }
}
