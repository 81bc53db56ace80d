package io.waybill.handling;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** Response on the heap. Holds one count of each tensor's storage until it is closed. Thread-safe. */
public class HeldResponse extends ResponseFields {

    private final MessageType type;
    private final long id;
    private final int from;
    private final byte[] payload;
    private final List<Tensor> tensors;
    private final List<? extends RRef> references;
    private boolean closed; // guarded by this

    /** Identity of a response. */
    public record Header(MessageType type, long id, int from) {}

    /**
     * Creates a response.
     *
     * @param payload values alone, which do not change
     */
    public HeldResponse(Header header, byte[] payload, List<Tensor> tensors, List<? extends RRef> references) {
        this.type = header.type();
        this.id = header.id();
        this.from = header.from();
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
    protected ByteBuffer values() {
        return ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
    }

    @Override
    public List<Tensor> tensors() {
        return tensors;
    }

    @Override
    public List<? extends RRef> references() {
        return references;
    }

    /** Releases the tensors' storages, at the first call. */
    @Override
    public final void close() {
        if (!isEmpty() && isFirstClose()) {
            release();
        }
    }

    private synchronized boolean isFirstClose() {
        boolean isFirst = !closed;
        closed = true;
        return isFirst;
    }

    /** Returns whether there is nothing to release. */
    protected boolean isEmpty() {
        return false;
    }

    /** Releases the tensors' storages. Called once, unless this is {@linkplain #isEmpty empty}. */
    protected void release() {
        tensors.forEach(tensor -> tensor.storage().release());
    }
}
