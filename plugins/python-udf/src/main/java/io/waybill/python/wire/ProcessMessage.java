package io.waybill.python.wire;

import io.waybill.api.RRef;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Message from a process: its payload in the frame's own memory, its tensors copied or in place.
 *
 * <p><b>Ownership.</b> Holds one count of each storage until {@link #close}. For one thread.
 */
public final class ProcessMessage implements AutoCloseable {

    private final ByteBuffer body;
    private final List<Storage> storages = new ArrayList<>();
    private final List<Tensor> tensors = new ArrayList<>();
    private final List<RRef> references = new ArrayList<>();
    private ByteBuffer payload;

    private ProcessMessage(ByteBuffer body) {
        this.body = body;
    }

    /**
     * Reads a message from the position of a body to its end.
     *
     * @throws ProtocolException if it violates the protocol; all resources are released then
     */
    static ProcessMessage read(ByteBuffer body, CallFrame.Shared shared) throws IOException {
        ProcessMessage message = new ProcessMessage(body);
        try {
            message.read(shared);
            return message;
        } catch (IOException | RuntimeException | Error e) {
            message.close();
            throw e;
        }
    }

    private void read(CallFrame.Shared shared) throws IOException {
        Regions files = shared.regions();
        require(FramedMessage.HEAD, "the head of a message");
        int payloadLength = body.getInt();
        int storageCount =
                Short.toUnsignedInt(body.getShort()); // too many of them are refused with the message, by the worker
        int tensorCount = Short.toUnsignedInt(body.getShort());
        int referenceCount = Short.toUnsignedInt(body.getShort());
        body.getShort();
        long inlinedLeft = body.limit();
        long regionsLeft = storageCount == 0 || files == null ? 0 : files.size();
        for (int i = 0; i < storageCount; i++) {
            require(FramedMessage.STORAGE, "a storage");
            long size = body.getLong();
            long position = body.getLong();
            long place = body.getLong();
            if (place == FramedMessage.PART) {
                storages.add(shared.parts().take(position, size));
            } else if (place == FramedMessage.KEPT_PART) {
                storages.add(shared.parts().share(position, size));
            } else if (place == FramedMessage.INLINED) {
                requireInside(size, position, body.limit(), inlinedLeft, "the frame's body");
                inlinedLeft -= size;
                allocate(size, shared.buffers()).bytes(0, (int) size).put(body.slice((int) position, (int) size));
            } else if (place != FramedMessage.REGION) {
                throw new ProtocolException("the place of a storage is from 0 to 3, and " + place + " is none");
            } else if (files == null) {
                throw new ProtocolException("a storage lies in a region, and this process has none");
            } else {
                requireInside(size, position, files.size(), regionsLeft, "the region file");
                regionsLeft -= size;
                files.read(position, allocate(size, shared.buffers()));
            }
        }
        for (int i = 0; i < tensorCount; i++) {
            tensors.add(tensor());
        }
        for (int i = 0; i < referenceCount; i++) {
            require(FramedMessage.REFERENCE, "a reference");
            references.add(shared.references().get(body.getLong()));
            body.getLong();
        }
        require(payloadLength, "the payload");
        payload = body.slice(body.position(), payloadLength);
    }

    private void require(int bytes, String what) throws ProtocolException {
        if (bytes < 0 || bytes > body.remaining()) {
            throw new ProtocolException(what + " needs " + Integer.toUnsignedString(bytes) + " bytes, and "
                    + body.remaining() + " are left in the frame");
        }
    }

    /** @param left remaining bytes after the previous storages, which must not overlap */
    private static void requireInside(long size, long position, long end, long left, String where)
            throws ProtocolException {
        if (position < 0 || size < 0 || size > left || position > end - size) {
            throw new ProtocolException("a storage of " + size + " bytes at " + position + " does not lie in " + where
                    + " of " + end + " bytes, of which " + left + " are in no other storage");
        }
    }

    private Storage allocate(long size, TensorBuffers buffers) {
        Storage storage = buffers.allocate(Math.max(1, size));
        storages.add(storage);
        return storage;
    }

    private Tensor tensor() throws ProtocolException {
        require(FramedMessage.TENSOR, "a tensor");
        int storage = Short.toUnsignedInt(body.getShort());
        int dtype = Byte.toUnsignedInt(body.get());
        int flags = body.get();
        int dimensions = Byte.toUnsignedInt(body.get());
        body.position(body.position() + 3);
        final long offset = body.getLong();
        require(dimensions * FramedMessage.DIMENSION, "the dimensions of a tensor");
        long[] sizes = new long[dimensions];
        long[] strides = new long[dimensions];
        for (int i = 0; i < dimensions; i++) {
            sizes[i] = body.getLong();
            strides[i] = body.getLong();
        }
        if (storage >= storages.size() || !DType.isKnown(dtype)) {
            throw new ProtocolException("a tensor names storage " + storage + " of " + storages.size()
                    + " and a known element type, not " + dtype);
        }
        try {
            return new Tensor(DType.of(dtype), sizes, strides, offset, (flags & 1) != 0, storages.get(storage));
        } catch (IllegalArgumentException e) {
            throw new ProtocolException(e.getMessage());
        }
    }

    public ByteBuffer payload() {
        return payload.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    }

    public List<Tensor> tensors() {
        return tensors;
    }

    /** Returns the references, whose handles the process keeps. */
    public List<RRef> references() {
        return references;
    }

    @Override
    public void close() {
        storages.forEach(Storage::release);
        storages.clear();
    }
}
