package ${package};

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.testing.TestBroker;
import io.waybill.testing.TrafficOutcome;
import io.waybill.testing.WaybillExtension;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The bundle in a broker: called, and upgraded while it is called. */
@Timeout(120)
class GreeterBundleTest {

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(Path.of("target/classes"));

    private static Request greet(TestBroker broker) {
        Request request = broker.request("${artifactId}.greet");
        request.body().text("name", "Ada");
        return request;
    }

    @Test
    void respondsToCalls(TestBroker broker) {
        try (Response response = broker.call(greet(broker))) {
            assertThat(response.text("text")).isEqualTo("Hello, Ada");
        }
    }

    @Test
    void losesNothingWhileItIsUpgraded(TestBroker broker) throws Exception {
        TrafficOutcome outcome = broker.upgradeUnderTraffic(
                () -> greet(broker), response -> response.text("text").equals("Hello, Ada"));
        assertThat(outcome.responded()).isEqualTo(outcome.calls());
    }
}
