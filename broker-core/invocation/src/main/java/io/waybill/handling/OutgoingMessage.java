package io.waybill.handling;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.context.CallContext;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * Request that passes through the interceptors of its call. Pooled with the {@link CallHooks}.
 *
 * <p><b>Threads.</b> Belongs to the calling thread. <b>Ownership.</b> Has one count of the storage of each tensor, and
 * a handle of each reference, that an interceptor passed to it.
 */
final class OutgoingMessage implements OutgoingCall {

    /** Offset of the name in the payload of a call by name, behind its length. */
    private static final int NAME_AT = 2;

    private static final Set<MessageType> NAMES_OWNER = Set.of(
            MessageType.SCRIPT_REMOTE_CALL,
            MessageType.PYTHON_REMOTE_CALL,
            MessageType.SCRIPT_RREF_FETCH_CALL,
            MessageType.PYTHON_RREF_FETCH_CALL);

    private final CallHooks call;
    private Request called; // the program's request
    private Request request;
    private boolean isAwaited;
    private boolean open; // while interceptors may change it
    private List<Tensor> tensors = List.of(); // tensors that an interceptor passed
    private List<RRef> references = List.of(); // handles of references that an interceptor passed

    OutgoingMessage(CallHooks call) {
        this.call = call;
    }

    void open(Request first) {
        called = first;
        request = first;
        open = true;
    }

    /** Sets whether the calling thread waits for the outcome. */
    void awaited(boolean awaited) {
        isAwaited = awaited;
    }

    /** Lets no interceptor change the request any more. */
    void seal() {
        open = false;
    }

    /** Returns the request to send. */
    Request request() {
        return request;
    }

    /** Releases the objects that interceptors passed. Does not throw. */
    void close() {
        PassedObjects.release(tensors, references);
        tensors = List.of();
        references = List.of();
        called = null;
        request = null;
    }

    private Request current() {
        call.requireInside();
        if (!open) {
            throw new IllegalStateException("the request was sent; an interceptor changes it in onRequest alone");
        }
        return request;
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
    public void context(CallContext context) {
        current();
        call.context(context);
    }

    @Override
    public void attach(Object attachment) {
        current();
        call.attach(attachment);
    }

    @Override
    public MessageType type() {
        return current().type();
    }

    @Override
    public String operation() {
        current();
        MessageType type = called.type();
        boolean isByName = type == MessageType.NAMED_CALL
                || type == MessageType.SCRIPT_CALL
                || type == MessageType.SCRIPT_REMOTE_CALL;
        int length = isByName ? nameLength(called.payloadArray(), called.payloadLength()) : 0;
        return length == 0 ? type.name() : new String(called.payloadArray(), NAME_AT, length, StandardCharsets.UTF_8);
    }

    /** Returns a name's length; 0 when the payload has none. */
    private static int nameLength(byte[] payload, int payloadLength) {
        if (payloadLength < NAME_AT) {
            return 0;
        }
        int length =
                Invocation.nameLength(Byte.toUnsignedInt(payload[0]) | Byte.toUnsignedInt(payload[1]) << Byte.SIZE);
        return length > Invocation.MAX_NAME_BYTES || NAME_AT + length > payloadLength ? 0 : length;
    }

    @Override
    public boolean isAwaited() {
        current();
        return isAwaited;
    }

    @Override
    public ByteBuffer payload() {
        return ByteBuffer.wrap(current().payloadArray(), 0, request.payloadLength())
                .slice()
                .asReadOnlyBuffer();
    }

    @Override
    public List<Tensor> tensors() {
        return current().tensors();
    }

    @Override
    public List<RRef> references() {
        return current().references();
    }

    @Override
    public void keep() {
        current();
        call.keep();
    }

    @Override
    public void redirect(String worker) {
        current();
        if (NAMES_OWNER.contains(call.calledType())) {
            throw new IllegalStateException("a " + call.calledType() + " names the owner of a remote value, " + to()
                    + ", and can't be redirected to " + worker);
        }
        request = replaced(worker, request.type(), payload(), request.tensors(), request.references());
        call.redirected(worker);
    }

    @Override
    public void wrap(MessageType type, ByteBuffer payload) {
        request = replaced(current().to(), type, payload, request.tensors(), request.references());
        call.wrapped();
    }

    @Override
    public void wrap(
            MessageType type, ByteBuffer payload, List<Tensor> newTensors, List<? extends RRef> newReferences) {
        current();
        List<Tensor> ownTensors = List.copyOf(newTensors);
        List<RRef> ownReferences = PassedObjects.handlesOf(newReferences);
        try {
            request = replaced(request.to(), type, payload, ownTensors, ownReferences);
        } catch (RuntimeException | Error e) {
            PassedObjects.release(List.of(), ownReferences);
            throw e;
        }
        PassedObjects.release(tensors, references); // objects of the previous interceptor
        tensors = ownTensors;
        references = ownReferences;
        call.wrapped();
    }

    private Request replaced(
            String to,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> ofTensors,
            List<? extends RRef> ofReferences) {
        Request wrapped = Request.raw(to, type, payload, ofTensors, ofReferences);
        return request.timeoutNs() == Request.DEFAULT_TIMEOUT
                ? wrapped
                : wrapped.timeout(Duration.ofNanos(request.timeoutNs()));
    }
}
