package io.waybill.worker;

import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/** A response that outlives the poll in which it was read: the payload copied, the tensors' storages held. */
final class OwnedResponse extends ResponseFields {

    private final MessageType type;
    private final long id;
    private final int from;
    private final byte[] payload;
    private final List<Tensor> tensors;
    private boolean closed;

    private OwnedResponse(MessageType type, long id, int from, byte[] payload, List<Tensor> tensors) {
        this.type = type;
        this.id = id;
        this.from = from;
        this.payload = payload;
        this.tensors = tensors;
    }

    /** Copies the payload and retains the tensors' storages. */
    static OwnedResponse keep(Response response) {
        List<Tensor> tensors = response.tensors().isEmpty() ? List.of() : List.copyOf(response.tensors());
        for (int i = 0; i < tensors.size(); i++) {
            tensors.get(i).storage().retain();
        }
        ByteBuffer source = response.payload();
        byte[] copy = new byte[source.remaining()];
        source.get(source.position(), copy);
        return new OwnedResponse(response.type(), response.id(), response.from(), copy, tensors);
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
    public synchronized void close() {
        if (!closed) {
            closed = true;
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }
}
