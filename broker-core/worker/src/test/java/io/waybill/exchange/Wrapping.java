package io.waybill.exchange;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** An envelope type of a test: the code of the inner type, and the inner payload. The caller's side, and three forms of the callee's. */
public final class Wrapping implements CallInterceptor {

    private final MessageType type;

    public Wrapping(int kind) {
        this.type = MessageType.userRequest(kind);
    }

    /** Wraps a worker's calls of some key. */
    public static void add(Worker caller, String key, int kind, int ranking) {
        caller.interceptors()
                .calls()
                .add(new InterceptorSpec<>(
                        List.of(HandlerKey.parse(key)),
                        new Wrapping(kind),
                        new Provider("wrap-" + kind, "1"),
                        ranking));
    }

    /** Returns an inner message of a type, in its envelope. */
    public static ByteBuffer wrap(int typeCode, ByteBuffer payload) {
        return ByteBuffer.allocate(payload.remaining() + 2)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putShort((short) typeCode)
                .put(payload)
                .flip();
    }

    static MessageType innerType(ByteBuffer envelope) {
        return MessageType.of(Short.toUnsignedInt(
                envelope.duplicate().order(ByteOrder.LITTLE_ENDIAN).getShort(envelope.position())));
    }

    static ByteBuffer inner(ByteBuffer envelope) {
        return envelope.slice(envelope.position() + 2, envelope.remaining() - 2);
    }

    @Override
    public void onRequest(OutgoingCall call) {
        call.wrap(type, wrap(call.type().code(), call.payload()));
    }

    @Override
    public void onResponse(IncomingResponse response) {
        ByteBuffer payload = response.response().payload();
        response.unwrap(innerType(payload), inner(payload));
    }

    /** Waits for the inner response. */
    public static final MessageHandler BLOCKING = (message, outbox) -> {
        ByteBuffer payload = message.payload();
        try (Response response =
                outbox.dispatch(innerType(payload), inner(payload), message.tensors(), message.references())) {
            outbox.respond(wrap(response.type().code(), response.payload()), kept(response), response.references());
        }
    };

    /** Responds when the inner response comes. */
    public static final MessageHandler ASYNC = (message, outbox) -> {
        ByteBuffer payload = message.payload();
        LateResponse late = outbox.later();
        outbox.dispatchAsync(innerType(payload), inner(payload), message.tensors(), message.references())
                .whenComplete((response, failure) -> {
                    if (failure instanceof CallException inner) {
                        late.fail(inner.code(), inner.getMessage());
                        return;
                    }
                    try (response) {
                        late.send(
                                wrap(response.type().code(), response.payload()),
                                kept(response),
                                response.references());
                    }
                });
    };

    private static List<Tensor> kept(Response response) {
        response.tensors().forEach(tensor -> tensor.storage().retain());
        return response.tensors();
    }

    /** Turns the failure of the inner message into a response. */
    public static MessageHandler catching(List<CallException> caught) {
        return (message, outbox) -> {
            try {
                BLOCKING.handle(message, outbox);
            } catch (CallException e) {
                caught.add(e);
                throw new RejectedMessageException(e.code(), "caught: " + e.getMessage());
            }
        };
    }
}
