package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.api.MessageType;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.HandlerTable.Absence;
import io.waybill.host.ManualClock;
import io.waybill.testing.core.Waits;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class HandlerRegistryTest {

    private static final HandlerKey COUNT = HandlerKey.parse("text.count");
    private static final Provider ACME = new Provider("acme", "1.0.0");
    private static final Provider NEWER = new Provider("acme", "2.0.0");
    private static final Duration LONG = Duration.ofSeconds(30);

    private final ManualClock clock = new ManualClock();
    private final HandlerRegistry registry =
            new HandlerRegistry(new ParkingSettings(10, Duration.ofSeconds(60).toNanos()), new DaemonThreads(), clock);
    private final HandlerExecutor executor = registry.newExecutor(ACME, ExecutorSettings.forProcessors(2));

    @AfterEach
    void endThreads() {
        executor.close(LONG);
    }

    private HandlerSpec spec(Provider provider, int ranking, MessageHandler handler, String... keys) {
        List<HandlerKey> parsed =
                java.util.stream.Stream.of(keys).map(HandlerKey::parse).toList();
        return new HandlerSpec(
                parsed, handler, false, provider, ranking, getClass().getClassLoader(), executor);
    }

    private static MessageHandler handler() {
        return new MessageHandler() {
            @Override
            public void handle(io.waybill.api.Message message, io.waybill.api.handler.Outbox outbox) {}
        };
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void findsAHandlerByTypeByNameAndByControlName() {
        MessageHandler handler = handler();
        registry.add(spec(ACME, 0, handler, "SCRIPT_CALL", "text.count", "control:bundle.list"));
        HandlerTable table = registry.table();

        byte[] inAMessage = utf8("..text.count..");
        assertThat(table.forType(MessageType.SCRIPT_CALL.code()).handler()).isSameAs(handler);
        assertThat(table.forOperation(inAMessage, 2, 10).handler()).isSameAs(handler);
        assertThat(table.forOperation(new UnsafeBuffer(inAMessage), 2, 10).handler())
                .isSameAs(handler);
        assertThat(table.forControl(utf8("bundle.list"), 0, 11).handler()).isSameAs(handler);
        assertThat(table.forControl(new UnsafeBuffer(utf8("bundle.list")), 0, 11)
                        .handler())
                .isSameAs(handler);
    }

    /** A table with it would make the search of a request go round for ever. */
    @Test
    void publishesNoHandlerThatWasWithdrawn() throws Exception {
        HandlerRegistry.Registration old = registry.addExclusively(spec(ACME, 0, handler(), "text.count", "text.more"));
        HandlerRegistry.Registration left = registry.prepare(spec(NEWER, 0, handler(), "text.count"));
        HandlerRegistry.Registration stays = registry.prepare(spec(NEWER, 0, handler(), "text.more"));
        registry.share(List.of(left, stays), new CanaryRule(100, Optional.empty(), Optional.empty()));
        assertThat(registry.table().forKey(COUNT).hasCanary()).isTrue();
        registry.takeOut(List.of(left));
        assertThat(registry.table().forKey(COUNT).hasCanary())
                .as("a share of a withdrawn handler")
                .isFalse();

        registry.replace(List.of(old), List.of(left, stays));
        assertThat(registry.table().forKey(COUNT)).isNull();
        assertThat(registry.table().absence(COUNT)).isEqualTo(Absence.LEFT);
        assertThat(registry.table().forKey(HandlerKey.parse("text.more")))
                .isSameAs(stays.entries().get(0));
        registry.withdraw(List.of(old, left, stays), LONG);
        assertThat(registry.table().isDraining())
                .as("handlers that still end requests")
                .isFalse();
    }

    @Test
    void keepsOperationsAndControlOperationsApart() {
        registry.add(spec(ACME, 0, handler(), "text.count", "control:bundle.list"));
        HandlerTable table = registry.table();

        assertThat(table.forControl(utf8("text.count"), 0, 10)).isNull();
        assertThat(table.forOperation(utf8("bundle.list"), 0, 11)).isNull();
    }

    @Test
    void hasNothingForAnUnknownKeyWhateverItsCode() {
        HandlerTable table = registry.table();
        for (int code : new int[] {-1, 0, 0x142, 0x3ff, 0x400, Integer.MAX_VALUE}) {
            assertThat(table.forType(code)).isNull();
            assertThat(table.absenceOfType(code)).isEqualTo(Absence.NEVER_KNOWN);
        }
        assertThat(table.absenceOfOperation(utf8("no.such"), 0, 7)).isEqualTo(Absence.NEVER_KNOWN);
    }

    @Test
    void letsRequestsParkWhileHandlersAreExpected() {
        registry.expectMore();
        assertThat(registry.table().absenceOfOperation(utf8("text.count"), 0, 10))
                .isEqualTo(Absence.LEFT);
        assertThat(registry.table().absenceOfType(0x142)).isEqualTo(Absence.LEFT);
        assertThat(registry.table().neverKnew(COUNT)).isFalse();

        registry.add(spec(ACME, 0, handler(), "text.count"));
        registry.expectNoMore();
        assertThat(registry.table().neverKnew(COUNT)).isFalse();
        assertThat(registry.table().neverKnew(HandlerKey.parse("text.other"))).isTrue();
        assertThat(registry.table().absenceOfType(0x142)).isEqualTo(Absence.NEVER_KNOWN);
    }

    @Test
    void forgetsKeysOfWhichNothingIsParked() {
        registry.countParked(COUNT, 2);
        registry.countParked(COUNT, -2);
        registry.add(spec(ACME, 0, handler(), "text.count"));
        assertThat(registry.statuses().get(0).parked()).isZero();
    }

    @Test
    void findsEachOfManyNames() {
        for (int i = 0; i < 1000; i++) {
            registry.add(spec(new Provider("p" + i, "1"), 0, handler(), "op.number" + i));
        }
        HandlerTable table = registry.table();
        for (int i = 0; i < 1000; i++) {
            byte[] name = utf8("op.number" + i);
            assertThat(table.forOperation(name, 0, name.length).provider().name())
                    .isEqualTo("p" + i);
        }
        assertThat(table.forOperation(utf8("op.number1000"), 0, 13)).isNull();
    }

    @Test
    void usesTheHighestRankingThenTheOldest() {
        registry.add(spec(new Provider("first", "1"), 0, handler(), "text.count"));
        registry.add(spec(new Provider("second", "1"), 0, handler(), "text.count"));
        assertThat(registry.table().forKey(COUNT).provider().name()).isEqualTo("first");

        HandlerRegistry.Registration better =
                registry.add(spec(new Provider("better", "1"), 5, handler(), "text.count"));
        assertThat(registry.table().forKey(COUNT).provider().name()).isEqualTo("better");
        assertThat(registry.statuses())
                .extracting(s -> s.provider().name(), HandlerStatus::state)
                .containsExactlyInAnyOrder(
                        tuple("better", HandlerInfo.State.SERVING),
                        tuple("first", HandlerInfo.State.SHADOWED),
                        tuple("second", HandlerInfo.State.SHADOWED));

        better.withdraw(LONG);
        assertThat(registry.table().forKey(COUNT).provider().name()).isEqualTo("first");
    }

    @Test
    void remembersThatAHandlerLeftUntilParkingIsOver() {
        registry.add(spec(ACME, 0, handler(), "text.count")).withdraw(LONG);
        long leftAt = clock.monotonicNs();

        assertThat(registry.table().forKey(COUNT)).isNull();
        assertThat(registry.table().absenceOfOperation(utf8("text.count"), 0, 10))
                .isEqualTo(Absence.LEFT);
        assertThat(registry.table().leftAtNs(COUNT)).isEqualTo(leftAt);
        clock.advance(Duration.ofSeconds(60));
        assertThat(registry.table().absence(COUNT)).isEqualTo(Absence.LEFT);
        clock.advance(Duration.ofNanos(1));
        assertThat(registry.table().absence(COUNT)).isEqualTo(Absence.NEVER_KNOWN);
    }

    @Test
    void forgetsThatAHandlerLeftWhenAnotherComes() {
        registry.add(spec(ACME, 0, handler(), "text.count")).withdraw(LONG);
        registry.add(spec(NEWER, 0, handler(), "text.count"));

        assertThat(registry.statuses())
                .extracting(HandlerStatus::state, HandlerStatus::provider)
                .containsExactly(tuple(HandlerInfo.State.SERVING, NEWER));
        HandlerTable table = registry.table();
        assertThatThrownBy(() -> table.leftAtNs(COUNT)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void countsWhatAHandlerDoes() {
        registry.add(spec(ACME, 0, handler(), "text.count"));
        HandlerEntry entry = registry.table().forKey(COUNT);
        for (int i = 0; i < 5; i++) {
            assertThat(entry.begin()).isTrue();
        }
        entry.end(Outcome.DONE);
        entry.end(Outcome.DONE);
        entry.end(Outcome.FAILED);
        registry.countParked(COUNT, 7);

        HandlerStatus status = registry.statuses().get(0);
        assertThat(status.inFlight()).isEqualTo(2);
        assertThat(status.done()).isEqualTo(2);
        assertThat(status.failed()).isEqualTo(1);
        assertThat(status.parked()).isEqualTo(7);
        assertThat(status.provider()).isEqualTo(ACME);
    }

    @Test
    void waitsForRunningRequestsWhenWithdrawn() throws Exception {
        HandlerRegistry.Registration registration = registry.add(spec(ACME, 0, handler(), "text.count", "text.other"));
        HandlerEntry entry = registry.table().forKey(COUNT);
        assertThat(entry.begin()).isTrue();

        CompletableFuture<Drained> drained = CompletableFuture.supplyAsync(() -> registration.withdraw(LONG));
        Waits.until("the handler left the table", () -> registry.table().forKey(COUNT) == null);
        Waits.until("it refuses more", () -> !entry.begin());
        assertThat(drained).isNotDone();
        assertThat(registry.statuses()).extracting(HandlerStatus::state).contains(HandlerInfo.State.DRAINING);

        entry.end(Outcome.DONE);
        assertThat(drained.get(20, TimeUnit.SECONDS)).isEqualTo(Drained.DRAINED);
        assertThat(registry.statuses())
                .extracting(HandlerStatus::state)
                .containsOnly(HandlerInfo.State.LEFT)
                .hasSize(2);
    }

    @Test
    void givesUpWaitingAtTheLimit() {
        HandlerRegistry.Registration registration = registry.add(spec(ACME, 0, handler(), "text.count"));
        HandlerEntry entry = registry.table().forKey(COUNT);
        entry.begin();
        entry.begin();

        assertThat(registration.withdraw(Duration.ZERO)).isEqualTo(Drained.timedOut(2));
        entry.end(Outcome.DONE);
        entry.end(Outcome.FAILED);
        assertThat(registration.withdraw(Duration.ZERO)).isEqualTo(Drained.DRAINED);
    }

    @Test
    void notifiesListenersOfEveryChange() {
        AtomicInteger changes = new AtomicInteger();
        registry.addListener(changes::incrementAndGet);

        registry.add(spec(ACME, 0, handler(), "text.count")).withdraw(LONG);
        assertThat(changes).hasValue(2);
    }

    @Test
    void letsNoRequestSlipInAfterWithdrawReturned() throws Exception {
        for (int round = 0; round < 200; round++) {
            HandlerRegistry.Registration registration = registry.add(spec(ACME, 0, handler(), "text.count"));
            HandlerEntry entry = registry.table().forKey(COUNT);
            AtomicLong running = new AtomicLong();
            CompletableFuture<Void> serving = CompletableFuture.runAsync(() -> {
                while (entry.begin()) {
                    running.incrementAndGet();
                    running.decrementAndGet();
                    entry.end(Outcome.DONE);
                }
            });
            assertThat(registration.withdraw(LONG)).isEqualTo(Drained.DRAINED);
            assertThat(running).hasValue(0);
            assertThat(entry.begin()).isFalse();
            serving.get(20, TimeUnit.SECONDS);
        }
    }

    @Test
    void refusesAHandlerOfTooManyKeys() {
        String[] keys = new String[HandlerSpec.MAX_KEYS + 1];
        Arrays.setAll(keys, i -> "text.n" + i);
        assertThatThrownBy(() -> spec(ACME, 0, handler(), keys)).hasMessageContaining("at most 10000");
        String[] max = Arrays.copyOf(keys, HandlerSpec.MAX_KEYS);
        HandlerRegistry.Registration registration = registry.add(spec(ACME, 0, handler(), max));
        assertThat(registration.statuses()).hasSize(HandlerSpec.MAX_KEYS);
        assertThat(registration.withdraw(LONG)).isEqualTo(Drained.DRAINED);
        assertThat(registry.table().forKey(HandlerKey.parse("text.n7"))).isNull();
    }

    @Test
    void refusesAHandlerThatTakesNothingOrAKeyTwice() {
        assertThatThrownBy(() -> spec(ACME, 0, handler())).hasMessageContaining("nothing");
        assertThatThrownBy(() -> spec(ACME, 0, handler(), "a.b", "a.b")).hasMessageContaining("twice");
    }
}
