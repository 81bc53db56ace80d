package io.waybill.worker.reference;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.ResponseFields;
import io.waybill.tensor.Storages;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A value of this worker, passed to its program in the form of a fetched one. Holds one count of each tensor's storage,
 * and a handle of each reference.
 */
final class LocalValue extends ResponseFields {

    private final int owner;
    private final ByteBuffer payload;
    private final List<Tensor> tensors;
    private final List<ReferenceHandle> references;
    private final List<ReferenceHandle> handles;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Takes the counts and the handles.
     *
     * @throws io.waybill.api.CallException when a reference in the value has failed
     */
    LocalValue(int owner, StoredValue value) {
        this.owner = owner;
        this.handles = ReferenceHandle.all(value.references(), ReferenceHandle::retain);
        this.references = handles.stream().map(ReferenceHandle::leased).toList();
        this.payload = value.payload();
        this.tensors = value.tensors();
        tensors.forEach(tensor -> tensor.storage().retain());
    }

    @Override
    public MessageType type() {
        return MessageType.SCRIPT_RREF_FETCH_RET;
    }

    @Override
    public long id() {
        return MessageId.NONE;
    }

    @Override
    public int from() {
        return owner;
    }

    @Override
    public ByteBuffer payload() {
        return payload.duplicate();
    }

    @Override
    public List<Tensor> tensors() {
        return tensors;
    }

    @Override
    public List<ReferenceHandle> references() {
        return references;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            try {
                Storages.releaseAll(tensors);
            } finally {
                handles.forEach(ReferenceHandle::close);
            }
        }
    }
}
