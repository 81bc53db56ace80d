package io.waybill.worker;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/** A value of this worker's own, given to its program as if it had been fetched. Holds one count of each tensor's storage. */
final class LocalValue extends ResponseFields {

    private final int owner;
    private final ByteBuffer payload;
    private final List<Tensor> tensors;
    private boolean closed;

    LocalValue(int owner, StoredValue value) {
        this.owner = owner;
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
    List<HeldReference> references() {
        return List.of();
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }
}
