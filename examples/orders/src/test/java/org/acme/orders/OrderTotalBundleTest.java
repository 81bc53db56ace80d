package org.acme.orders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.testing.TestBroker;
import io.waybill.testing.TrafficOutcome;
import io.waybill.testing.WaybillExtension;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The bundle with its library in a real broker, where no other bundle has Jackson. */
@Timeout(180)
class OrderTotalBundleTest {

    private static final String ORDER =
            "{\"customer\": \"acme\", \"lines\": [{\"count\": 2, \"cents\": 150}, {\"count\": 1, \"cents\": 99}]}";

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(Path.of("target/classes"));

    private static Request total(TestBroker broker, String order) {
        Request request = broker.request("orders.total");
        request.body().text("order", order);
        return request;
    }

    @Test
    void readsJson(TestBroker broker) {
        try (Response response = broker.call(total(broker, ORDER))) {
            assertThat(response.int64("cents")).isEqualTo(399);
            assertThat(response.text("customer")).isEqualTo("acme");
        }
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> broker.call(total(broker, "[")))
                .extracting(CallException::code)
                .isEqualTo(ErrorCode.MALFORMED_BODY);
    }

    @Test
    void losesNothingWhileItIsUpgraded(TestBroker broker) throws Exception {
        TrafficOutcome outcome =
                broker.upgradeUnderTraffic(() -> total(broker, ORDER), response -> response.int64("cents") == 399);
        assertThat(outcome.responded()).isEqualTo(outcome.calls());
    }

    @Test
    void respondsAgainAsItDid(TestBroker broker) throws Exception {
        broker.call(total(broker, ORDER)).close();
        broker.call(total(broker, "{\"customer\": \"none\", \"lines\": []}")).close();
        assertThatExceptionOfType(CallException.class).isThrownBy(() -> broker.call(total(broker, "[")));
        assertThat(broker.assertReplays(broker.home()).calls()).isEqualTo(3);
    }

    @Test
    void hasTheLibraryInside() throws Exception {
        String manifest = Files.readString(Path.of("target/classes/META-INF/MANIFEST.MF"))
                .replace("\r\n ", "")
                .replace("\n ", "");
        assertThat(manifest.lines().filter(line -> line.startsWith("Import-Package:")))
                .singleElement()
                .asString()
                .contains("io.waybill.api")
                .doesNotContain("jackson");
    }
}
