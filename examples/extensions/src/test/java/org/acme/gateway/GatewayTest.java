package org.acme.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The gateway in a real broker, before a third worker. */
@Timeout(120)
class GatewayTest {

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(Path.of("target/bundles/gateway"));

    private Worker backend;

    @BeforeEach
    void join(TestBroker broker) throws IOException {
        backend = Waybill.connect(broker.home(), "backend")
                .with(
                        "text.shout",
                        (message, outbox) -> outbox.response()
                                .text("loud", message.text("text").toUpperCase(java.util.Locale.ROOT)))
                .with("text.bad", (message, outbox) -> {
                    throw new RejectedMessageException(ErrorCode.REFUSED, "not today");
                })
                .join();
    }

    @AfterEach
    void leave() throws IOException {
        backend.close();
    }

    @Test
    void forwardsWhatNoOtherHandlerTakes(TestBroker broker) {
        broker.handle(TestBroker.SERVER, "text.count", (message, outbox) -> outbox.respond(Value.of(1)));
        try (Response own = broker.call(broker.request("text.count"))) {
            assertThat(own.value()).isEqualTo(Value.of(1));
        }
        Request request = broker.request("text.shout");
        request.body().text("text", "to be");
        try (Response forwarded = broker.call(request)) {
            assertThat(forwarded.text("loud")).isEqualTo("TO BE");
        }
    }

    @Test
    void passesErrorsBack(TestBroker broker) {
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> broker.call(broker.request("text.bad")))
                .withMessageContaining("not today");
    }

    @Test
    void sendsNothingBackToWhereItCameFrom() {
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> backend.call(Request.operation(TestBroker.SERVER, "text.other")))
                .withMessageContaining("neither this worker nor backend handles text.other");
    }
}
