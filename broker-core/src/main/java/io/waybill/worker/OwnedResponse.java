package io.waybill.worker;

import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.Tensor;
import io.waybill.handling.ResponseFields;
import java.nio.ByteBuffer;
import java.util.List;

/** A response that outlives the poll in which it was read: the payload copied, the tensors' storages and the references held. */
final class OwnedResponse extends ResponseFields {

    private final MessageType type;
    private final long id;
    private final int from;
    private final byte[] payload;
    private final List<Tensor> tensors;
    private final ArrivedReferences references;
    private boolean closed; // guarded by this

    private OwnedResponse(ResponseView view, byte[] payload, List<Tensor> tensors) {
        this.type = view.type();
        this.id = view.id();
        this.from = view.from();
        this.references = view.takeReferences();
        this.payload = payload;
        this.tensors = tensors;
    }

    /** Copies the payload, retains the tensors' storages, and takes the references. */
    static OwnedResponse keep(Response response) {
        ResponseView view = (ResponseView) response;
        List<Tensor> tensors = response.tensors().isEmpty() ? List.of() : List.copyOf(response.tensors());
        for (int i = 0; i < tensors.size(); i++) {
            tensors.get(i).storage().retain();
        }
        ByteBuffer source = response.payload();
        byte[] copy = new byte[source.remaining()];
        source.get(source.position(), copy);
        return new OwnedResponse(view, copy, tensors);
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
    protected List<HeldReference> references() {
        return references.held();
    }

    @Override
    public void close() {
        if (isFirstClose()) {
            tensors.forEach(tensor -> tensor.storage().release());
            references.release();
        }
    }

    private synchronized boolean isFirstClose() {
        boolean first = !closed;
        closed = true;
        return first;
    }
}
