package org.acme.wordcount;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.admin.Admin;
import io.waybill.api.admin.OperationInfo;
import io.waybill.api.handler.FieldType;
import io.waybill.api.handler.OperationDescription;
import io.waybill.testing.TestBroker;
import io.waybill.testing.TrafficOutcome;
import io.waybill.testing.WaybillExtension;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The bundle in a real broker: called, upgraded under calls, and replayed. */
@Timeout(120)
class WordCountBundleTest {

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(Path.of("target/classes"));

    private static Request count(TestBroker broker, String text) {
        Request request = broker.request("text.count");
        request.body().text("text", text);
        return request;
    }

    @Test
    void respondsToCalls(TestBroker broker) {
        try (Response response = broker.call(count(broker, "to be or not to be"))) {
            assertThat(response.int64("words")).isEqualTo(6);
        }
    }

    @Test
    void isDescribedToItsUsers(TestBroker broker) {
        OperationInfo operation = Admin.of(broker.caller())
                .operation(TestBroker.SERVER, "text.count")
                .orElseThrow();
        assertThat(operation.description().orElseThrow().arguments())
                .containsExactly(new OperationDescription.Field("text", FieldType.TEXT, false, "what is counted"));
    }

    @Test
    void losesNothingWhileItIsUpgraded(TestBroker broker) throws Exception {
        TrafficOutcome outcome = broker.upgradeUnderTraffic(
                () -> count(broker, "to be"), response -> response.int64("words") == 2);
        assertThat(outcome.responded()).isEqualTo(outcome.calls());
    }

    @Test
    void respondsAgainAsItDid(TestBroker broker) throws Exception {
        broker.call(count(broker, "to be or not to be")).close();
        broker.call(count(broker, "")).close();
        assertThat(broker.assertReplays(broker.home()).calls()).isEqualTo(2);
    }
}
