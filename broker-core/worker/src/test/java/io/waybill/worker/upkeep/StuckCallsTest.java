package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.admin.HandlerInfo;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.StuckSettings;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.worker.metrics.WorkerCounters;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The count of stuck calls of each handler, and the handler that is out of service for it. */
@Timeout(60)
class StuckCallsTest {

    private static final int MAX = 3;
    private static final Provider ACME = new Provider("acme", "1.0.0");
    private static final HandlerKey COUNT = HandlerKey.parse("text.count");
    private static final HandlerKey OTHER = HandlerKey.parse("text.other");
    private static final HandlerKey CONTROL = new HandlerKey.OfControl("jobs.list");

    private final HandlerRegistry registry =
            new HandlerRegistry(ParkingSettings.DEFAULT, Host.real().threads(), new ManualClock());
    private final HandlerExecutor executor = registry.newExecutor(ACME, ExecutorSettings.forProcessors(1));
    private final WorkerCounters counters = new WorkerCounters();
    private final StuckCalls calls = new StuckCalls(new StuckSettings(1, 1, MAX), registry, counters);
    private final AtomicInteger changes = new AtomicInteger();
    private HandlerRegistry.Registration registration;

    @AfterEach
    void endThreads() {
        executor.close(Duration.ofSeconds(20));
    }

    private HandlerEntry publish(HandlerKey... keys) {
        registration = registry.add(new HandlerSpec(
                List.of(keys),
                (message, outbox) -> {},
                false,
                ACME,
                0,
                StuckCallsTest.class.getClassLoader(),
                executor));
        registry.addListener(changes::incrementAndGet);
        return entry(keys[0]);
    }

    private HandlerEntry entry(HandlerKey key) {
        return registration.entries().stream()
                .filter(entry -> entry.key().equals(key))
                .findFirst()
                .orElseThrow();
    }

    private void add(HandlerEntry entry, int times) {
        for (int i = 0; i < times; i++) {
            calls.add(entry);
        }
    }

    private void remove(HandlerEntry entry, int times) {
        for (int i = 0; i < times; i++) {
            calls.remove(entry);
        }
    }

    private long stuck() {
        return registry.statuses().get(0).stuck();
    }

    @Test
    void eachStuckCallIsChargedToItsProvider() {
        HandlerEntry entry = publish(COUNT);
        add(entry, 2);
        calls.remove(entry);
        assertThat(counters.requestsStuck())
                .as("stuck calls so far, also those that returned")
                .isEqualTo(2);
        assertThat(registry.errors().of(ACME.name()))
                .as("failures of the provider")
                .isEqualTo(2);
        assertThat(stuck()).as("calls that are stuck now").isEqualTo(1);
    }

    @Test
    void threadsAreReplacedUpToTheLimit() {
        HandlerEntry entry = publish(COUNT);
        for (int call = 1; call <= MAX + 2; call++) {
            assertThat(calls.add(entry))
                    .as("whether the thread of stuck call %d of at most %d is replaced", call, MAX)
                    .isEqualTo(call <= MAX);
        }
        assertThat(stuck()).as("stuck calls, counted behind the limit, too").isEqualTo(MAX + 2);
        remove(entry, 3);
        assertThat(calls.add(entry))
                .as("whether the thread of the next one is replaced, with %d stuck", MAX)
                .isTrue();
    }

    @Test
    void aHandlerIsOutOfServiceFromTheLimitOnUntilFewerAreStuck() {
        HandlerEntry entry = publish(COUNT);
        add(entry, MAX - 1);
        assertThat(entry.isOutOfService()).as("with %d stuck", MAX - 1).isFalse();
        assertThat(changes).as("changes below the limit").hasValue(0);
        add(entry, 3);
        assertThat(entry.isOutOfService()).as("with %d stuck", MAX + 2).isTrue();
        assertThat(registry.statuses().get(0).state()).isEqualTo(HandlerInfo.State.STUCK);
        assertThat(changes).as("changes when it went out of service").hasValue(1);
        remove(entry, 2);
        assertThat(entry.isOutOfService()).as("with %d stuck", MAX).isTrue();
        assertThat(changes).as("changes while too many are stuck").hasValue(1);
        remove(entry, 1);
        assertThat(entry.isOutOfService()).as("with %d stuck", MAX - 1).isFalse();
        assertThat(registry.statuses().get(0).state()).isEqualTo(HandlerInfo.State.SERVING);
        assertThat(changes).as("changes when it was back").hasValue(2);
        remove(entry, MAX - 1);
        assertThat(changes).as("changes while it serves").hasValue(2);
    }

    @Test
    void aHandlerGoesOutOfServiceAgain() {
        HandlerEntry entry = publish(COUNT);
        add(entry, MAX);
        calls.remove(entry);
        calls.add(entry);
        assertThat(entry.isOutOfService())
                .as("at the limit for the second time")
                .isTrue();
        assertThat(changes).as("out, back, and out").hasValue(3);
    }

    @Test
    void eachKeyOfAHandlerHasItsOwnCount() {
        publish(COUNT, OTHER);
        add(entry(COUNT), MAX);
        assertThat(entry(COUNT).isOutOfService()).as("the key with stuck calls").isTrue();
        assertThat(entry(OTHER).isOutOfService()).as("the other one").isFalse();
    }

    @Test
    void theNodesOwnOperationsStayInService() {
        HandlerEntry entry = publish(CONTROL);
        add(entry, MAX + 1);
        assertThat(entry.isOutOfService())
                .as("an operation that an operator needs")
                .isFalse();
        assertThat(stuck()).as("its stuck calls").isEqualTo(MAX + 1);
        assertThat(changes).as("changes of the service").hasValue(0);
    }

    @Test
    void aHandlerThatWasGivenUpStaysOutOfService() {
        HandlerEntry entry = publish(COUNT);
        assertThat(entry.begin()).isTrue();
        add(entry, MAX);
        registration.withdraw(Duration.ZERO);
        int before = changes.get();
        remove(entry, MAX);
        assertThat(entry.isOutOfService())
                .as("after its calls came back, without anybody who waits for them")
                .isTrue();
        assertThat(changes.get() - before).as("changes of the service").isZero();
    }
}
