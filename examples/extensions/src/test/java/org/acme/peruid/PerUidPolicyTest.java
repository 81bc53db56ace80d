package org.acme.peruid;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.lang.annotation.Annotation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The policy in a real broker, and in a program without OSGi. */
@Timeout(120)
class PerUidPolicyTest {

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(Path.of("target/bundles/peruid"));

    /** Settings as Declarative Services give them. */
    private record Settings(String uids) implements PerUidPolicy.Config {
        @Override
        public Class<? extends Annotation> annotationType() {
            return PerUidPolicy.Config.class;
        }
    }

    @Test
    void servesNoOtherUserByDefault(TestBroker broker) {
        broker.handle(TestBroker.SERVER, "text.count", (message, outbox) -> outbox.respond(Value.of(1)));
        assertThatThrownBy(() -> broker.call(broker.request("text.count")))
                .hasMessageContaining("is not among the uids of this node");
    }

    @Test
    void servesTheUsersOfItsSettingsFile(TestBroker broker) throws Exception {
        broker.handle(TestBroker.SERVER, "text.count", (message, outbox) -> outbox.respond(Value.of(1)));
        Object uid = Files.getAttribute(broker.home(), "unix:uid");
        broker.configure(PerUidPolicy.class.getName(), Map.of("uids", "4711, " + uid));
        broker.restart();
        try (Response response = broker.call(broker.request("text.count"))) {
            assertThat(response.value()).isEqualTo(Value.of(1));
        }
    }

    @Test
    void servesTheUsersOfItsSettings(TestBroker broker) throws Exception {
        Object uid = Files.getAttribute(broker.home(), "unix:uid");
        PerUidPolicy policy = new PerUidPolicy(new Settings("4711, " + uid));
        try (Worker guarded = Waybill.connect(broker.home(), "guarded")
                        .with("text.count", (message, outbox) -> outbox.respond(Value.of(1)))
                        .with(policy)
                        .join();
                Response response =
                        broker.caller().call(Request.operation(guarded.info().name(), "text.count"))) {
            assertThat(response.value()).isEqualTo(Value.of(1));
        }
    }
}
