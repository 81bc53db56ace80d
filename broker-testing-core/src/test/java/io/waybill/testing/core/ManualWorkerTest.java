package io.waybill.testing.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Envelopes, wildcards and interceptors, tested without a broker. */
@Timeout(60)
class ManualWorkerTest {

    private static final MessageType ENVELOPE = MessageType.userRequest(0x50);

    private final ManualWorker worker = new ManualWorker()
            .handle(
                    "text.upper",
                    (message, outbox) ->
                            outbox.response().text("text", message.text("text").toUpperCase(java.util.Locale.ROOT)))
            .handle("text.*", (message, outbox) -> outbox.respond(Value.of("any of text: " + message.operation())));

    private static Request upper() {
        Request request = Request.operation("ps0", "text.upper");
        request.body().text("text", "be");
        return request;
    }

    /** Hands on the call that it carries, and passes its response on: an envelope. */
    private static final MessageHandler OPENER = (message, outbox) -> {
        try (Response inner =
                outbox.dispatch(MessageType.NAMED_CALL, message.payload(), message.tensors(), message.references())) {
            outbox.respond(inner.payload(), inner.tensors(), inner.references());
        }
    };

    private static TestMessage envelope(Request inner) {
        ByteBuffer payload = ByteBuffer.wrap(inner.payloadArray(), 0, inner.payloadLength());
        return TestMessage.raw(ENVELOPE, payload, List.of(), List.of());
    }

    @Test
    void dispatchesToTheHandlersOfTheTest() throws Exception {
        RecordingOutbox outbox = new RecordingOutbox(worker);
        OPENER.handle(envelope(upper()), outbox);
        assertThat(outbox.toResponse(MessageType.NAMED_RET).text("text")).isEqualTo("BE");
    }

    @Test
    void failsAnEnvelopeAsTheInnerMessageFails() {
        worker.handle("text.bad", (message, outbox) -> {
                    throw new RejectedMessageException(ErrorCode.TOO_LARGE, "not today");
                })
                .handle(ENVELOPE.name(), OPENER);
        Request bad = Request.operation("ps0", "text.bad");
        Request wrapped = Request.raw("ps0", ENVELOPE, envelope(bad).payload(), List.of());
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> worker.call(wrapped))
                .withMessage("not today")
                .extracting(CallException::code)
                .isEqualTo(ErrorCode.TOO_LARGE);
    }

    @Test
    void dispatchesLater() throws Exception {
        List<LateResponse> given = new ArrayList<>();
        worker.handle("text.later", (message, outbox) -> given.add(outbox.later()));
        RecordingOutbox outbox = new RecordingOutbox(worker);
        TestMessage message = envelope(Request.operation("ps0", "text.later"));
        CompletableFuture<Response> inner =
                outbox.dispatchAsync(MessageType.NAMED_CALL, message.payload(), List.of(), List.of());
        assertThat(inner).isNotDone();
        assertThatIllegalStateException()
                .isThrownBy(() -> outbox.dispatch(MessageType.NAMED_CALL, message.payload(), List.of(), List.of()))
                .withMessageContaining("deferred");
        given.get(0).send(Value.of("then"));
        given.get(0).fail(ErrorCode.REFUSED, "too late");
        assertThat(inner.join().value()).isEqualTo(Value.of("then"));
        CompletableFuture<Response> failing =
                outbox.dispatchAsync(MessageType.NAMED_CALL, message.payload(), List.of(), List.of());
        given.get(2).fail(ErrorCode.REFUSED, "no");
        given.get(2).send(Value.of("too late"));
        assertThat(failing)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(CallException.class)
                .withMessageContaining("no");
    }

    @Test
    void boundsTheDepth() {
        worker.handle(
                ENVELOPE.name(),
                (message, outbox) -> outbox.dispatch(ENVELOPE, message.payload(), List.of(), List.of())
                        .close());
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> worker.call(Request.raw("ps0", ENVELOPE, ByteBuffer.allocate(1), List.of())))
                .withMessageContaining("at most " + Outbox.MAX_DEPTH);
    }

    @Test
    void callsTheMostSpecificHandler() {
        worker.handle("*", (message, outbox) -> outbox.respond(Value.of("any")))
                .handle("type:*", (message, outbox) -> outbox.respond(Value.of("any type")))
                .handle(new Declared());
        assertThat(worker.call(upper()).text("text")).isEqualTo("BE");
        assertThat(worker.call(Request.operation("ps0", "text.other")).value())
                .isEqualTo(Value.of("any of text: text.other"));
        assertThat(worker.call(Request.operation("ps0", "py.f")).value()).isEqualTo(Value.of("any"));
        assertThat(worker.call(Request.operation("ps0", "declared.one")).value())
                .isEqualTo(Value.of("declared"));
        assertThat(worker.call(Request.raw("ps0", ENVELOPE, ByteBuffer.allocate(0), List.of()))
                        .value())
                .isEqualTo(Value.of("any type"));
    }

    @HandlesMessage({"declared.one", "declared.two"})
    private static final class Declared implements MessageHandler {
        @Override
        public void handle(io.waybill.api.Message message, Outbox outbox) {
            outbox.respond(Value.of("declared"));
        }
    }

    /** Wraps each call of text in an envelope, and its response in a value. */
    @InterceptsMessage("text.*")
    private static final class Wrapping implements CallInterceptor {
        private final List<String> seen = new ArrayList<>();

        @Override
        public void onRequest(OutgoingCall call) {
            seen.add("request " + call.operation());
            call.attach(call.payload().remaining());
            call.wrap(ENVELOPE, call.payload());
        }

        @Override
        public void onResponse(IncomingResponse response) {
            seen.add("response " + response.attachment());
            byte[] bytes = new byte[response.response().payload().remaining()];
            response.response().payload().get(bytes);
            response.unwrap(MessageType.NAMED_RET, ByteBuffer.wrap(bytes));
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            seen.add("failure " + failure.code());
        }
    }

    @Test
    void wrapsCallsAndUnwrapsResponses() {
        Wrapping wrapping = new Wrapping();
        worker.with(wrapping)
                .handle(ENVELOPE.name(), OPENER)
                .handle("other.echo", (message, outbox) -> outbox.respond(Value.NONE));
        Request request = upper();
        try (Response response = worker.call(request)) {
            assertThat(response.type()).isEqualTo(MessageType.NAMED_RET);
            assertThat(response.text("text")).isEqualTo("BE");
        }
        worker.call(Request.operation("ps0", "other.echo")).close();
        assertThat(wrapping.seen).containsExactly("request text.upper", "response " + request.payloadLength());
    }

    @Test
    void repeatsFailedCalls() {
        worker.with(new CallInterceptor() {
                    @Override
                    public void onRequest(OutgoingCall call) {
                        call.keep();
                    }

                    @Override
                    public void onAttemptFailed(FailedAttempt attempt) {
                        if (attempt.number() < 3) {
                            attempt.repeat(Duration.ofSeconds(1));
                        }
                    }
                })
                .handle("text.fails", (message, outbox) -> {
                    throw new IllegalStateException("planted");
                });
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> worker.call(Request.operation("ps0", "text.fails")))
                .extracting(CallException::code)
                .isEqualTo(ErrorCode.HANDLER_FAILED);
        assertThat(worker.attempts()).isEqualTo(3);
        assertThat(worker.delayed()).isEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void callsInterceptorsOfHandlersInTheirOrder() {
        List<String> seen = new ArrayList<>();
        worker.with(logging("near", seen)).with(logging("far", seen));
        worker.call(upper()).close();
        assertThat(seen).containsExactly("far", "near", "near after near, ok", "far after far, ok");
        seen.clear();
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> worker.call(Request.operation("ps0", "no.handler")));
        assertThat(seen).endsWith("far after far, UNKNOWN_OPERATION");
    }

    private static HandlerInterceptor logging(String name, List<String> seen) {
        return new HandlerInterceptor() {
            @Override
            public void before(InterceptedMessage message, Outbox outbox) {
                seen.add(name);
                message.attach(name);
            }

            @Override
            public void after(HandledMessage outcome) {
                seen.add(name + " after " + outcome.attachment() + ", "
                        + outcome.error().map(ErrorCode::name).orElse("ok"));
            }
        };
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failsACallWhoseInterceptorThrowsAfterTheResponse(boolean later) throws Exception {
        List<LateResponse> given = new ArrayList<>();
        worker.handle("text.after", (message, outbox) -> {
            if (later) {
                given.add(outbox.later());
            } else {
                outbox.respond(Value.of(1));
            }
        });
        worker.with(new HandlerInterceptor() {
            @Override
            public void before(InterceptedMessage message, Outbox outbox) {}

            @Override
            public void after(HandledMessage outcome) {
                throw new IllegalStateException("by the test");
            }
        });
        TestMessage message = envelope(Request.operation("ps0", "text.after"));
        CompletableFuture<Response> call = new RecordingOutbox(worker)
                .dispatchAsync(MessageType.NAMED_CALL, message.payload(), List.of(), List.of());
        for (LateResponse response : given) {
            response.send(Value.of(1));
        }
        assertThat(call)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(CallException.class)
                .withMessageContaining("by the test");
    }

    @Test
    void takesTheResponseOfAnInterceptor() {
        worker.with((HandlerInterceptor) (message, outbox) -> outbox.respond(Value.of("cached")));
        assertThat(worker.call(upper()).value()).isEqualTo(Value.of("cached"));
    }

    @Test
    void givesTheBrokerOfATestItsCaller() {
        ManualBroker broker = new ManualBroker(worker);
        assertThat(broker.caller().call(upper()).text("text")).isEqualTo("BE");
        assertThat(TestMessage.of(upper()).references()).isEqualTo(List.of());
        assertThat(TestResponse.of(new Value.Dict(Map.of(Value.of("n"), Value.of(2))))
                        .float64("n"))
                .isEqualTo(2.0);
    }
}
