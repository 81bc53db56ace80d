package org.acme.busiest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.Value;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The command in a real broker, while operations that it does not know are called. */
@Timeout(120)
class BusiestTest {

    private static final Path BUNDLE = Path.of("target/bundles/busiest");

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(BUNDLE);

    @Test
    void showsCallsAndErrorsPerSecond(TestBroker broker) throws Exception {
        broker.handle(TestBroker.SERVER, "text.count", (message, outbox) -> outbox.respond(Value.of(1)));
        ScheduledExecutorService traffic = Executors.newSingleThreadScheduledExecutor();
        try {
            traffic.scheduleWithFixedDelay(
                    () -> {
                        broker.call(broker.request("text.count")).close();
                        assertThatExceptionOfType(CallException.class)
                                .isThrownBy(() -> broker.call(broker.request("no.such")));
                    },
                    0,
                    1,
                    TimeUnit.MILLISECONDS);
            List<Value> shown = broker.command("busiest", "--times", "2");
            assertThat(shown.get(0))
                    .isEqualTo(Value.of(String.format("%-40s %10s %10s", "OPERATION", "CALLS/S", "ERRORS/S")));
            assertThat(shown)
                    .hasSize(6)
                    .anySatisfy(line -> assertThat(((Value.Text) line).value()).matches("text.count +[0-9.]+ +0.0"));

            List<Value> documents = broker.command("busiest", "--json", "--times", "1");
            Map<Value, Value> rates = ((Value.Dict) documents.get(0)).entries();
            assertThat(rates).containsOnlyKeys(Value.of("text.count"), Value.of("no.such"));
            List<Value> unknown = ((Value.Items) rates.get(Value.of("no.such"))).values();
            assertThat(unknown)
                    .allSatisfy(rate -> assertThat(((Value.Float) rate).value()).isPositive());
        } finally {
            traffic.shutdownNow();
        }
    }

    @Test
    void refusesATimeThatIsNone(TestBroker broker) {
        assertThatExceptionOfType(ToolFailedException.class)
                .isThrownBy(() -> broker.command("busiest", "--every", "0"))
                .withMessage("--every is a number from 1, not 0")
                .satisfies(failure -> assertThat(failure.exitCode()).isEqualTo(ToolFailedException.USAGE));
    }
}
