package org.acme.slowest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.RecordCodec;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The command in a real broker, after calls of which one took longer. */
@Timeout(120)
class SlowestTest {

    private static final Path BUNDLE = Path.of("target/bundles/slowest");

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(BUNDLE);

    @Test
    void showsTheSlowestCallOfEachOperation(TestBroker broker) throws Exception {
        broker.handle(TestBroker.SERVER, "text.count", (message, outbox) -> {
            LockSupport.parkNanos(1_000_000 * message.int64("ms"));
            outbox.respond(Value.of(1));
        });
        for (long ms : new long[] {0, 300, 0}) {
            Request request = broker.request("text.count");
            request.body().int64("ms", ms);
            broker.call(request).close();
        }
        assertThatExceptionOfType(CallException.class).isThrownBy(() -> broker.call(broker.request("no.such")));

        List<Value> shown = broker.command("slowest", "--operation", "*.*");
        assertThat(shown).hasSize(3);
        assertThat(((Value.Text) shown.get(1)).value()).matches("no.such .* UNKNOWN_OPERATION");

        List<Value> documents = broker.command("slowest", "--json", "--operation", "text.*");
        assertThat(documents).singleElement().satisfies(document -> {
            Slowest.Row row = RecordCodec.decode(document, Slowest.Row.class);
            assertThat(row.operation()).isEqualTo("text.count");
            assertThat(row.ms()).isGreaterThan(299);
            assertThat(row.outcome()).isEqualTo("OK");
        });
    }

    @Test
    void refusesATimeThatIsNone(TestBroker broker) {
        assertThatExceptionOfType(ToolFailedException.class)
                .isThrownBy(() -> broker.command("slowest", "--minutes", "few"))
                .withMessage("--minutes is a number, not few");
    }
}
