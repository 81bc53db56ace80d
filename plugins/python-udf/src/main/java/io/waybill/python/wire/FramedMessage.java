package io.waybill.python.wire;

import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Message to a process, encoded in two steps: {@link #FramedMessage its parts are placed}, and then
 * {@link #put written} into a frame.
 *
 * <p>For one thread.
 */
public final class FramedMessage {

    /** Max size of an inlined storage. */
    public static final int INLINE_MAX = 1 << 16;

    static final int HEAD = 12;
    static final int STORAGE = 24;
    static final int TENSOR = 16;
    static final int DIMENSION = 16;
    static final int REFERENCE = 16;
    static final int ALIGNMENT = 16;
    static final int MAX_INLINED = 1 << 20; // total per message, if there are regions
    static final int INLINED = 0;
    static final int REGION = 1;
    static final int PART = 2;
    static final int KEPT_PART = 3; // part that the process keeps using

    private final ByteBuffer payload;
    private final List<Tensor> tensors;
    private final List<? extends RRef> references;
    private final Map<Storage, Integer> indices = new IdentityHashMap<>();
    private final List<Storage> storages = new ArrayList<>();
    private final List<Place> places = new ArrayList<>();
    private long inlined; // size of inlined storages

    /**
     * Location of a storage.
     *
     * @param position of its region, or number of its part; 0 for an inlined one
     * @param inlined content of the frame: its bytes, or the file of its part; null for a storage in a region
     */
    private record Place(int kind, long position, ByteBuffer inlined) {

        static Place of(SegmentParts.Part part) {
            byte[] path = part.file().file().toString().getBytes(StandardCharsets.UTF_8);
            return new Place(
                    PART,
                    part.number(),
                    ByteBuffer.allocate(Long.BYTES + path.length)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .putLong(part.file().offset())
                            .put(path)
                            .flip());
        }

        int length() {
            return inlined == null ? 0 : inlined.remaining();
        }
    }

    /**
     * Places the storages; large ones are mapped by the process, or copied into regions.
     *
     * @throws RejectedMessageException if a tensor is on a device, or there is no room
     */
    FramedMessage(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references, CallFrame.Shared shared)
            throws RejectedMessageException {
        this.payload = payload;
        this.tensors = tensors;
        this.references = references;
        for (Tensor tensor : tensors) {
            if (!tensor.device().isCpu()) {
                throw new RejectedMessageException(
                        ErrorCode.DEVICE_UNMAPPED,
                        "a Python process gets tensors in host memory, and one of this message is on "
                                + tensor.device());
            }
            indices.computeIfAbsent(tensor.storage(), storage -> {
                storages.add(storage);
                return storages.size() - 1;
            });
        }
        boolean done = false;
        try {
            for (Storage storage : storages) {
                places.add(place(storage, shared));
            }
            done = true;
        } catch (IOException e) {
            throw new RejectedMessageException(ErrorCode.DEVICE_FULL, e.getMessage(), e);
        } finally {
            if (!done) {
                withdraw(shared);
            }
        }
    }

    private Place place(Storage storage, CallFrame.Shared shared) throws IOException, RejectedMessageException {
        Optional<SegmentParts.Part> part = shared.parts().add(storage);
        if (part.isPresent()) {
            return Place.of(part.get());
        }
        if (shared.regions() != null
                && (storage.sizeBytes() > INLINE_MAX || inlined + storage.sizeBytes() > MAX_INLINED)) {
            return new Place(REGION, shared.regions().write(storage), null);
        }
        if (storage.sizeBytes() > SocketFrame.MAX_BODY) {
            throw tooLarge(storage.sizeBytes());
        }
        inlined += storage.sizeBytes();
        return new Place(INLINED, 0, storage.bytes(0, (int) storage.sizeBytes()));
    }

    /** Frees the resources of a message that is not sent. */
    void withdraw(CallFrame.Shared shared) {
        try {
            for (Place place : places) {
                if (place.kind() == REGION) {
                    shared.regions().release(place.position());
                } else if (place.kind() == PART) {
                    shared.parts().release(place.position());
                }
            }
        } catch (ProtocolException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the length of this message after the given number of bytes of a body. */
    int lengthFrom(int from) throws RejectedMessageException {
        long end = from + fixedLength() + payload.remaining();
        for (Place place : places) {
            if (place.inlined() != null) {
                end = aligned(end) + place.length();
            }
        }
        if (end > SocketFrame.MAX_BODY) {
            throw tooLarge(end);
        }
        return (int) end - from;
    }

    private static RejectedMessageException tooLarge(long bytes) {
        return new RejectedMessageException(
                ErrorCode.TOO_LARGE,
                "a message has at most " + SocketFrame.MAX_BODY + " bytes in a frame, and this one has " + bytes);
    }

    private static long aligned(long position) {
        return position + ALIGNMENT - 1 & -ALIGNMENT;
    }

    private long fixedLength() {
        long length = HEAD + (long) STORAGE * storages.size() + (long) REFERENCE * references.size();
        for (Tensor tensor : tensors) {
            length += TENSOR + (long) DIMENSION * tensor.dimensions();
        }
        return length;
    }

    /** Writes this at the position of a frame. The handles of references are new. */
    void put(ByteBuffer frame, HandleTable handles) {
        int bodyAt = SocketFrame.HEAD;
        frame.putInt(payload.remaining())
                .putShort((short) storages.size())
                .putShort((short) tensors.size())
                .putShort((short) references.size())
                .putShort((short) 0);
        long inlineAt = frame.position() - bodyAt - HEAD + fixedLength() + payload.remaining();
        for (int i = 0; i < storages.size(); i++) {
            Place place = places.get(i);
            inlineAt = place.inlined() == null ? inlineAt : aligned(inlineAt);
            frame.putLong(storages.get(i).sizeBytes())
                    .putLong(place.kind() == INLINED ? inlineAt : place.position())
                    .put((byte) place.kind())
                    .put((byte) 0)
                    .putShort((short) (place.kind() == PART ? place.length() : 0))
                    .putInt(place.kind() == PART ? (int) inlineAt : 0);
            inlineAt += place.length();
        }
        tensors.forEach(tensor -> put(frame, tensor));
        for (RRef reference : references) {
            put(frame, reference.retain(), handles);
        }
        frame.put(payload.duplicate());
        for (Place place : places) {
            if (place.inlined() != null) {
                frame.position(bodyAt + (int) aligned(frame.position() - bodyAt));
                frame.put(place.inlined().duplicate());
            }
        }
    }

    /** Writes a reference, whose handle the table owns afterwards. */
    static void put(ByteBuffer frame, RRef reference, HandleTable handles) {
        int flags = (reference.isOwner() ? 1 : 0) | (reference.confirmedByOwner() ? 2 : 0);
        frame.putLong(handles.add(reference))
                .putShort((short) reference.owner())
                .put((byte) flags)
                .put(new byte[5]);
    }

    private void put(ByteBuffer frame, Tensor tensor) {
        frame.putShort(indices.get(tensor.storage()).shortValue())
                .put((byte) tensor.dtype().code())
                .put((byte) (tensor.requiresGrad() ? 1 : 0))
                .put((byte) tensor.dimensions())
                .put(new byte[3])
                .putLong(tensor.storageOffset());
        for (int i = 0; i < tensor.dimensions(); i++) {
            frame.putLong(tensor.size(i)).putLong(tensor.stride(i));
        }
    }
}
