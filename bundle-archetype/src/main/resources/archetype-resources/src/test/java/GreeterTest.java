package ${package};

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The handler alone, without a broker. */
@Timeout(60)
class GreeterTest {

    private final RecordingOutbox outbox = new RecordingOutbox();

    @Test
    void greetsByName() throws Exception {
        new Greeter().handle(TestMessage.of("${artifactId}.greet", Map.of("name", Value.of("Ada"))), outbox);
        assertThat(outbox.fields()).isEqualTo(Map.of("text", Value.of("Hello, Ada")));
    }

    @Test
    void refusesACallWithoutAName() {
        TestMessage empty = TestMessage.of("${artifactId}.greet", Map.of());
        assertThatExceptionOfType(RejectedMessageException.class)
                .isThrownBy(() -> new Greeter().handle(empty, outbox))
                .extracting(RejectedMessageException::code)
                .isEqualTo(ErrorCode.MALFORMED_BODY);
    }
}
