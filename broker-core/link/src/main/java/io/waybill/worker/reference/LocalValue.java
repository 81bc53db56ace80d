package io.waybill.worker.reference;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.ResponseFields;
import io.waybill.tensor.DeviceCopy;
import io.waybill.tensor.Storages;
import io.waybill.tensor.TensorReceiver;
import io.waybill.worker.peer.CallErrors;
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
    private final TensorReceiver receiver;
    private List<Tensor> tensors; // guarded by this
    private boolean isKept; // guarded by this; whether tensors are to be put on a device
    private final List<ReferenceHandle> references;
    private final List<ReferenceHandle> handles;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Takes the counts and the handles.
     *
     * @throws io.waybill.api.CallException when a reference in the value has failed
     */
    LocalValue(int owner, StoredValue value, TensorReceiver receiver) {
        this.receiver = receiver;
        this.owner = owner;
        this.handles = ReferenceHandle.all(value.references(), ReferenceHandle::retain);
        this.references = handles.stream().map(ReferenceHandle::leased).toList();
        this.payload = value.payload();
        this.tensors = value.tensors();
        tensors.forEach(tensor -> tensor.storage().retain());
        this.isKept = DeviceCopy.isAmong(tensors);
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

    /** Puts tensors on their devices when they are first requested, on the requesting thread. */
    @Override
    public synchronized List<Tensor> tensors() {
        if (isKept && !closed.get()) {
            try {
                tensors = receiver.placed(tensors);
                isKept = false;
            } catch (RejectedMessageException e) {
                throw CallErrors.refused(e.code(), e.getMessage());
            }
        }
        return tensors;
    }

    @Override
    public List<ReferenceHandle> references() {
        return references;
    }

    @Override
    public synchronized void close() {
        if (closed.compareAndSet(false, true)) {
            try {
                Storages.releaseAll(tensors);
            } finally {
                handles.forEach(ReferenceHandle::close);
            }
        }
    }
}
