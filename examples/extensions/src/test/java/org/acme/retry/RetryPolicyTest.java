package org.acme.retry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The retry policy around calls to a worker that is busy at first. */
@Timeout(120)
class RetryPolicyTest {

    private static final Path BUNDLE = Path.of("target/bundles/retry");

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(BUNDLE);

    private final AtomicInteger served = new AtomicInteger();

    private void handle(TestBroker broker, ErrorCode code, int failing) {
        broker.handle(TestBroker.CALLER, "text.flaky", (message, outbox) -> {
            if (served.getAndIncrement() < failing) {
                throw new RejectedMessageException(code, "not now");
            }
            outbox.respond(Value.of("done"));
        });
    }

    private static Request flaky(Duration timeout) {
        return Request.operation(TestBroker.CALLER, "text.flaky").timeout(timeout);
    }

    private static ErrorCode failure(TestBroker broker, Duration timeout) {
        return catchThrowableOfType(CallException.class, () -> broker.server().call(flaky(timeout)))
                .code();
    }

    @Test
    void repeatsUntilTheReceiverIsNotBusy(TestBroker broker) {
        handle(broker, ErrorCode.BACK_PRESSURE, 3);
        try (Response response = broker.server().call(flaky(Duration.ofSeconds(60)))) {
            assertThat(response.value()).isEqualTo(Value.of("done"));
        }
        assertThat(served).hasValue(4);
    }

    @Test
    void leavesOtherErrorsToTheProgram(TestBroker broker) {
        handle(broker, ErrorCode.REFUSED, 3);
        assertThat(failure(broker, Duration.ofSeconds(60))).isEqualTo(ErrorCode.REFUSED);
        assertThat(served).hasValue(1);
    }

    @Test
    void endsByTheDeadline(TestBroker broker) {
        handle(broker, ErrorCode.BACK_PRESSURE, Integer.MAX_VALUE);
        assertThat(failure(broker, Duration.ofMillis(500))).isIn(ErrorCode.BACK_PRESSURE, ErrorCode.TIMED_OUT);
    }
}
