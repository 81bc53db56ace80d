package io.waybill.handling;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Response on the heap whose content interceptors may replace. Owns the response that arrived, and the objects that
 * interceptors passed.
 */
public final class UnwrappedResponse extends ResponseFields implements ReplaceableResponse {

    private final HeldResponse arrived;
    private MessageType type;
    private byte[] payload; // null for the payload of the response that arrived
    private List<Tensor> tensors; // null for the tensors of the response that arrived
    private List<? extends RRef> references; // null for the references of the response that arrived
    private boolean closed; // guarded by this

    public UnwrappedResponse(HeldResponse arrived) {
        this.arrived = arrived;
        this.type = arrived.type();
    }

    @Override
    public void unwrap(MessageType newType, byte[] newPayload) {
        forgetFields();
        type = newType;
        payload = newPayload;
    }

    @Override
    public void unwrap(
            MessageType newType, byte[] newPayload, List<Tensor> newTensors, List<? extends RRef> newReferences) {
        releasePassed();
        unwrap(newType, newPayload);
        tensors = newTensors;
        references = newReferences;
    }

    private void releasePassed() {
        if (tensors != null) {
            PassedObjects.release(tensors, references);
        }
    }

    @Override
    public List<? extends RRef> references() {
        return references == null ? arrived.references() : references;
    }

    @Override
    public MessageType type() {
        return type;
    }

    @Override
    public long id() {
        return arrived.id();
    }

    @Override
    public int from() {
        return arrived.from();
    }

    @Override
    public ByteBuffer payload() {
        return payload == null ? arrived.payload() : ByteBuffer.wrap(payload).asReadOnlyBuffer();
    }

    @Override
    public List<Tensor> tensors() {
        return tensors == null ? arrived.tensors() : tensors;
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        releasePassed();
        arrived.close();
    }
}
