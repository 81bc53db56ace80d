package org.acme.audit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The audit log in a real broker, beside handlers that it does not know. */
@Timeout(120)
class AuditLogTest {

    private static final Path BUNDLE = Path.of("target/bundles/audit");

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(BUNDLE);

    private static List<String> lines(TestBroker broker) {
        try (Response response = broker.call(broker.request("audit.list"))) {
            return ((Value.Items) response.value())
                    .values().stream().map(line -> ((Value.Text) line).value()).toList();
        }
    }

    @Test
    void keepsALineForEachRequestAcrossAnUpdate(TestBroker broker) throws Exception {
        broker.handle(TestBroker.SERVER, "text.count", (message, outbox) -> outbox.respond(Value.of(1)));
        broker.handle(TestBroker.SERVER, "text.bad", (message, outbox) -> {
            throw new IllegalStateException("planted");
        });
        broker.call(broker.request("text.count")).close();
        assertThatExceptionOfType(CallException.class).isThrownBy(() -> broker.call(broker.request("text.bad")));
        broker.upgradeUnderTraffic(
                () -> broker.request("text.count"), response -> response.value().equals(Value.of(1)));

        List<String> lines = lines(broker);
        assertThat(lines.get(0)).matches("\\S+ caller text.count by test [0-9]+ ok");
        assertThat(lines.get(1)).matches("\\S+ caller text.bad by test [0-9]+ HANDLER_FAILED .*planted.*");
        assertThat(lines).filteredOn(line -> line.contains(" text.count by ")).hasSizeGreaterThan(400);
        assertThat(lines(broker))
                .as("the call of its own handler before, with the version of the bundle")
                .last(InstanceOfAssertFactories.STRING)
                .matches("\\S+ caller audit.list by org.acme.audit [0-9].* ok");
    }

    @Test
    void givesTheSameLinesInAReplay(TestBroker broker) throws Exception {
        lines(broker);
        lines(broker);
        assertThat(broker.assertReplays(broker.home()).calls()).isEqualTo(2);
    }
}
