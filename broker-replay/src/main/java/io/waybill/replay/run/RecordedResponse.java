package io.waybill.replay.run;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Tensor;
import io.waybill.handling.ResponseFields;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** A response that a handler is given in a replay. Holds one count of each tensor's storage. */
final class RecordedResponse extends ResponseFields {

    private final MessageType type;
    private final long id;
    private final int from;
    private final byte[] payload;
    private final List<Tensor> tensors;
    private final List<? extends RRef> references;
    private final AtomicBoolean closed = new AtomicBoolean();

    RecordedResponse(
            MessageType type,
            long id,
            int from,
            byte[] payload,
            List<Tensor> tensors,
            List<? extends RRef> references) {
        this.type = type;
        this.id = id;
        this.from = from;
        this.payload = payload;
        this.tensors = tensors;
        this.references = references;
    }

    @Override
    public MessageType type() {
        return type;
    }

    @Override
    public long id() {
        return id;
    }

    @Override
    public int from() {
        return from;
    }

    @Override
    public ByteBuffer payload() {
        return ByteBuffer.wrap(payload).asReadOnlyBuffer();
    }

    @Override
    public List<Tensor> tensors() {
        return tensors;
    }

    @Override
    protected List<? extends RRef> references() {
        return references;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }
}
