package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.MessageType;
import io.waybill.dispatch.HandlerTable.Absence;
import io.waybill.host.ManualClock;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Handlers of patterns: of a prefix of operations, of all operations, of all types. */
@Timeout(60)
class HandlerPatternsTest {

    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final Duration PARKING = Duration.ofSeconds(60);

    private final ManualClock clock = new ManualClock();
    private final HandlerRegistry registry =
            new HandlerRegistry(new ParkingSettings(10, PARKING.toNanos()), new DaemonThreads(), clock);
    private final HandlerExecutor executor =
            registry.newExecutor(new Provider("acme", "1"), ExecutorSettings.forProcessors(2));

    @AfterEach
    void endThreads() {
        executor.close(LIMIT);
    }

    private HandlerSpec spec(String provider, String... keys) {
        List<HandlerKey> parsed = Stream.of(keys).map(HandlerKey::parse).toList();
        return new HandlerSpec(
                parsed,
                (message, outbox) -> {},
                false,
                new Provider(provider, "1"),
                0,
                getClass().getClassLoader(),
                executor);
    }

    private HandlerRegistry.Registration add(String... keys) {
        return registry.add(spec("acme", keys));
    }

    /** The key whose handler gets a call to an operation; "parks" or "unknown" without one. */
    private String of(String operation) {
        byte[] utf8 = (".." + operation + "..").getBytes(StandardCharsets.UTF_8);
        int length = utf8.length - 4;
        HandlerTable table = registry.table();
        HandlerEntry entry = table.forOperation(utf8, 2, length);
        assertThat(table.forOperation(new UnsafeBuffer(utf8), 2, length)).isSameAs(entry);
        HandlerKey deciding = table.deciding(HandlerKey.parse(operation));
        assertThat(table.forKey(deciding)).isSameAs(entry);
        Absence absence = table.absenceOfOperation(utf8, 2, length);
        assertThat(table.absenceOfOperation(new UnsafeBuffer(utf8), 2, length)).isEqualTo(absence);
        return text(entry, absence);
    }

    private String ofType(int code) {
        HandlerTable table = registry.table();
        HandlerEntry entry = table.forType(code);
        return text(entry, table.absenceOfType(code));
    }

    private static String text(HandlerEntry entry, Absence absence) {
        if (entry != null) {
            return entry.key().text();
        }
        return absence == Absence.LEFT ? "parks" : "unknown";
    }

    @Test
    void theMostSpecificKeyGetsAnOperation() {
        add("*");
        add("py.*");
        add("py.torch.*");
        add("py.torch.add");

        assertThat(of("py.torch.add")).isEqualTo("py.torch.add");
        assertThat(of("py.torch.mul")).isEqualTo("py.torch.*");
        assertThat(of("py.torch.nn.linear")).isEqualTo("py.torch.*");
        assertThat(of("py.add")).isEqualTo("py.*");
        assertThat(of("python.add")).isEqualTo("*");
        assertThat(of("text.count")).isEqualTo("*");
    }

    @Test
    void aPrefixTakesNothingButWhatBeginsWithIt() {
        add("py.*");
        assertThat(of("py.é.ü")).isEqualTo("py.*");
        assertThat(of("pyx.add")).isEqualTo("unknown");
        assertThat(of("a.py.add")).isEqualTo("unknown");
        assertThat(ofType(0x142)).isEqualTo("unknown");
    }

    @Test
    void theMostSpecificKeyGetsAType() {
        add("type:*");
        add("0x142");
        assertThat(ofType(0x142)).isEqualTo("USER_0X42_CALL");
        assertThat(ofType(0x143)).isEqualTo("type:*");
        assertThat(ofType(MessageType.PYTHON_CALL.code())).isEqualTo("type:*");
        for (int code : new int[] {-1, 0, 0x201, 0x140, 0x1f0, 0x1ff, 0x3ff, 0x400}) {
            assertThat(ofType(code)).isEqualTo("unknown");
        }
        assertThat(of("text.count")).isEqualTo("unknown");
    }

    @Test
    void whatAHandlerLeftParksAndGoesToThePatternWhenParkingIsOver() {
        add("*", "type:*");
        add("text.count", "0x142").withdraw(LIMIT);

        assertThat(of("text.count")).isEqualTo("parks");
        assertThat(ofType(0x142)).isEqualTo("parks");
        assertThat(of("text.other")).isEqualTo("*");

        clock.advance(PARKING);
        assertThat(of("text.count")).isEqualTo("parks");
        clock.advance(Duration.ofNanos(1));
        assertThat(of("text.count")).isEqualTo("*");
        assertThat(ofType(0x142)).isEqualTo("type:*");
    }

    @Test
    void whatAPatternsHandlerLeftParks() {
        add("*");
        add("py.*").withdraw(LIMIT);
        assertThat(of("py.add")).isEqualTo("parks");
        assertThat(registry.table().neverKnew(HandlerKey.parse("py.add"))).isFalse();
        clock.advance(PARKING.plusNanos(1));
        assertThat(of("py.add")).isEqualTo("*");
    }

    @Test
    void noPatternTakesAnythingWhileHandlersAreExpected() {
        registry.expectMore();
        add("*", "type:*", "text.count");
        assertThat(of("text.count")).isEqualTo("text.count");
        assertThat(of("text.other")).isEqualTo("parks");
        assertThat(ofType(0x142)).isEqualTo("parks");
        registry.expectNoMore();
        assertThat(of("text.other")).isEqualTo("*");
        assertThat(ofType(0x142)).isEqualTo("type:*");
    }

    @Test
    void showsWhatParkedAtThePatternThatItWaitsFor() {
        add("py.*");
        registry.countParked(HandlerKey.parse("py.add"), 2);
        registry.countParked(HandlerKey.parse("py.mul"), 1);
        assertThat(registry.statuses()).singleElement().satisfies(status -> {
            assertThat(status.key().text()).isEqualTo("py.*");
            assertThat(status.parked()).isEqualTo(3);
        });
    }

    @Test
    void aProviderHasItsKeysForItself() throws Exception {
        HandlerRegistry.Registration gateway = registry.addExclusively(spec("org.acme.gateway", "*", "py.*"));
        registry.addExclusively(spec("org.acme.gateway", "*")).withdraw(LIMIT);
        registry.addExclusively(spec("org.acme.other", "py.add", "py.torch.*"));

        assertThatExceptionOfType(KeyClaimedException.class)
                .isThrownBy(() -> registry.addExclusively(spec("org.acme.bridge", "py.mul", "py.*")))
                .withMessageContainingAll("org.acme.bridge 1", "py.*", "org.acme.gateway 1");
        assertThat(of("py.mul")).isEqualTo("py.*");
        assertThat(registry.table().forKey(HandlerKey.parse("py.mul"))).isNull();

        gateway.withdraw(LIMIT);
        registry.addExclusively(spec("org.acme.bridge", "py.mul", "py.*"));
        assertThat(of("py.mul")).isEqualTo("py.mul");
    }
}
