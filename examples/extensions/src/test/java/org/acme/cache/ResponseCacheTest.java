package org.acme.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The cache in a real broker, around a handler that it does not know. */
@Timeout(120)
class ResponseCacheTest {

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(Path.of("target/bundles/cache"));

    private final AtomicInteger handled = new AtomicInteger();

    @BeforeEach
    void handle(TestBroker broker) {
        broker.handle(TestBroker.SERVER, "text.length", (message, outbox) -> {
            handled.incrementAndGet();
            String text = message.text("text");
            if (text.isEmpty()) {
                throw new RejectedMessageException(ErrorCode.REFUSED, "no text");
            }
            outbox.response().int64("length", text.length());
        });
    }

    private static Request length(TestBroker broker, String text) {
        Request request = broker.request("text.length");
        request.body().text("text", text);
        return request;
    }

    private static void assertLength(TestBroker broker, String text) {
        try (Response response = broker.call(length(broker, text))) {
            assertThat(response.int64("length")).isEqualTo(text.length());
        }
    }

    private static long figure(TestBroker broker, String name) throws IOException {
        return broker.figures().getOrDefault(name, 0L);
    }

    @Test
    void respondsInPlaceOfTheHandler(TestBroker broker) {
        assertLength(broker, "to be");
        assertLength(broker, "to be");
        assertThat(handled).hasValue(1);
        assertLength(broker, "or not");
        assertThat(handled).hasValue(2);
    }

    @Test
    void publishesHowManyResponsesItHasAndServed(TestBroker broker) throws Exception {
        assertLength(broker, "to be");
        assertLength(broker, "or not");
        assertLength(broker, "or not");
        Waits.until("two responses", () -> figure(broker, "org.acme.cache:responses") == 2);
        Waits.until("and one that was there", () -> figure(broker, "org.acme.cache/hits") == 1);
    }

    @Test
    void keepsNoErrors(TestBroker broker) {
        for (int i = 1; i <= 2; i++) {
            assertThatExceptionOfType(CallException.class).isThrownBy(() -> broker.call(length(broker, "")));
            assertThat(handled).hasValue(i);
        }
    }

    @Test
    void keepsItsResponsesAcrossAnUpdate(TestBroker broker) throws Exception {
        assertLength(broker, "to be");
        broker.upgradeUnderTraffic(() -> length(broker, "to be"), response -> response.int64("length") == 5);
        int passed = handled.get(); // the handler served requests while no version was there
        assertLength(broker, "to be");
        assertThat(handled)
                .as("the new version has the response of the old one")
                .hasValue(passed);
    }
}
