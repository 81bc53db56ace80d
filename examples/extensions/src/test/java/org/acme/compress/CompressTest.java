package org.acme.compress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Compressed calls in a real broker, to handlers that do not know of it. */
@Timeout(120)
class CompressTest {

    private static final String LARGE = "a".repeat(100_000);

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(Path.of("target/bundles/compress"));

    private static Request request(String operation, String text) {
        Request request = Request.operation(TestBroker.SERVER, operation).timeout(Duration.ofSeconds(30));
        request.body().text("text", text);
        return request;
    }

    @Test
    void givesTheHandlerAndTheCallerWhatWasSent(TestBroker broker) {
        broker.handle(
                TestBroker.SERVER,
                "text.twice",
                (message, outbox) -> outbox.respond(Value.of(message.text("text") + message.text("text"))));
        for (String text : List.of("short", LARGE)) {
            try (Response response = broker.server().call(request("text.twice", text))) {
                assertThat(response.type()).isEqualTo(MessageType.NAMED_RET);
                assertThat(response.value()).isEqualTo(Value.of(text + text));
            }
        }
    }

    @Test
    void failsAsABareCall(TestBroker broker) {
        broker.handle(TestBroker.SERVER, "text.bad", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "planted");
        });
        assertThatThrownBy(() -> broker.server().call(request("text.bad", LARGE)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.REFUSED))
                .hasMessage("planted");
    }

    @Test
    void refusesWhatIsNotCompressed(TestBroker broker) {
        for (int length : new int[] {0, 3, 40}) {
            ByteBuffer payload = ByteBuffer.allocate(length);
            if (length > 1) {
                payload.putShort(0, (short) 0x140);
            }
            Request request = Request.raw(TestBroker.SERVER, MessageType.userRequest(0xc0), payload, List.of());
            assertThatThrownBy(() -> broker.call(request)).isInstanceOf(CallException.class);
        }
    }

    @Test
    void isUpgradedUnderWrappedCalls(TestBroker broker) throws IOException, InterruptedException {
        broker.handle(
                TestBroker.SERVER,
                "text.length",
                (message, outbox) ->
                        outbox.respond(Value.of(message.text("text").length())));
        broker.upgradeUnderTraffic(
                () -> request("text.length", LARGE),
                response -> response.value().equals(Value.of(LARGE.length())));
        try (Response response = broker.server().call(request("text.length", LARGE))) {
            assertThat(response.value()).isEqualTo(Value.of(LARGE.length()));
        }
    }
}
