package io.waybill.handling;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Response that passes through the interceptors of its call. Pooled with the {@link CallHooks}.
 *
 * <p><b>Threads.</b> Belongs to the thread that completes the call.
 */
final class ArrivedResponse implements IncomingResponse {

    private final CallHooks call;
    private ReplaceableResponse view;

    ArrivedResponse(CallHooks call) {
        this.call = call;
    }

    void open(ReplaceableResponse arrived) {
        view = arrived;
    }

    void close() {
        view = null;
    }

    private ReplaceableResponse current() {
        call.requireInside();
        return view;
    }

    @Override
    public String to() {
        return call.to();
    }

    @Override
    public MessageType calledType() {
        return call.calledType();
    }

    @Override
    public long parentId() {
        return call.parentId();
    }

    @Override
    public CallContext context() {
        return call.context();
    }

    @Override
    public Object attachment() {
        return call.attachment();
    }

    @Override
    public Response response() {
        return current();
    }

    @Override
    public List<RRef> references() {
        return List.copyOf(current().references());
    }

    @Override
    public void unwrap(MessageType type, ByteBuffer payload) {
        current().unwrap(required(type), copy(payload));
    }

    @Override
    public void unwrap(MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        ReplaceableResponse of = current();
        byte[] bytes = copy(payload);
        List<Tensor> ownTensors = List.copyOf(tensors);
        of.unwrap(required(type), bytes, ownTensors, PassedObjects.handlesOf(references));
    }

    private static MessageType required(MessageType type) {
        if (!type.isResponse()) {
            throw new IllegalArgumentException("a response is unwrapped to a response, and " + type + " is none");
        }
        return type;
    }

    private static byte[] copy(ByteBuffer payload) {
        byte[] bytes = new byte[payload.remaining()];
        payload.get(payload.position(), bytes);
        return bytes;
    }
}
