package io.waybill.testing.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class HandlerAloneTest {

    private final RecordingOutbox outbox = new RecordingOutbox(() -> Instant.EPOCH, new Random(1));

    @Test
    void passesFieldsBothWays() throws Exception {
        MessageHandler greeting =
                (message, response) -> response.response().text("text", message.text("hello") + message.int64("times"));
        greeting.handle(TestMessage.of("greet", Map.of("hello", Value.of("hi"), "times", Value.of(2))), outbox);
        assertThat(outbox.fields()).isEqualTo(Map.of("text", Value.of("hi2")));
    }

    @Test
    void passesPositionalArguments() throws Exception {
        MessageHandler first = (message, response) ->
                response.respond(message.invocation().positional().get(0));
        TestMessage message =
                TestMessage.of(MessageType.SCRIPT_CALL, new Invocation("first", List.of(Value.of(7)), Map.of()));
        first.handle(message, outbox);
        assertThat(message.operation()).isEqualTo("first");
        assertThat(outbox.value()).isEqualTo(Value.of(7));
        outbox.release();
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(outbox::value)
                .withMessageContaining("found none");
    }

    @Test
    void refusesAFieldThatIsMissingOrOfAnotherType() {
        TestMessage message = TestMessage.of("greet", Map.of("hello", Value.of("hi")));
        assertThatExceptionOfType(RejectedMessageException.class)
                .isThrownBy(() -> message.int64("hello"))
                .withMessageContaining("the field hello must be of kind int, and is of kind text")
                .extracting(RejectedMessageException::code)
                .isEqualTo(ErrorCode.MALFORMED_BODY);
        assertThatExceptionOfType(RejectedMessageException.class).isThrownBy(() -> message.text("bye"));
    }

    @Test
    void refusesASecondResponse() {
        outbox.respond(Value.of(1));
        assertThatIllegalStateException().isThrownBy(outbox::response).withMessageContaining("a value");
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(outbox::fields)
                .withMessageContaining("a value");
    }

    @Test
    void hasTheClockThatItWasGiven() {
        assertThat(outbox.clock().instant()).isEqualTo(Instant.EPOCH);
        assertThat(outbox.random().nextInt()).isEqualTo(new Random(1).nextInt());
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> new RecordingOutbox().clock())
                .withMessageContaining("a clock");
    }
}
