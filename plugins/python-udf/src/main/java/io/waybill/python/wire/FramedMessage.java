package io.waybill.python.wire;

import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * A message on its way to a process, in two steps: {@link #FramedMessage its parts are placed}, and then {@link #put written} into a frame.
 *
 * <p>For one thread.
 */
public final class FramedMessage {

    /** Storages up to this size are inlined. */
    public static final int INLINE_MAX = 1 << 16;

    static final int HEAD = 12;
    static final int STORAGE = 24;
    static final int TENSOR = 16;
    static final int DIMENSION = 16;
    static final int REFERENCE = 16;
    static final int ALIGNMENT = 16;
    static final int MAX_PARTS = 1024;

    private final ByteBuffer payload;
    private final List<Tensor> tensors;
    private final List<? extends RRef> references;
    private final Map<Storage, Integer> indices = new IdentityHashMap<>();
    private final List<Storage> storages = new ArrayList<>();
    private final List<Long> regions = new ArrayList<>(); // -1: inlined

    /**
     * Places the storages; large ones are copied into regions.
     *
     * @param regions null when there are none
     * @throws RejectedMessageException when a tensor is on a device, or there is no room
     */
    FramedMessage(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references, Regions regions)
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
        try {
            for (Storage storage : storages) {
                boolean inlined = regions == null || storage.sizeBytes() <= INLINE_MAX;
                this.regions.add(inlined ? -1 : regions.write(storage));
            }
        } catch (IOException e) {
            withdraw(regions);
            throw new RejectedMessageException(ErrorCode.DEVICE_FULL, e.getMessage(), e);
        }
    }

    /** Frees the regions of a message that is not sent. */
    void withdraw(Regions from) {
        for (long region : regions) {
            if (region >= 0) {
                try {
                    from.release(region);
                } catch (ProtocolException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }

    /** Returns how many bytes this takes behind so many bytes of a body. */
    int lengthFrom(int from) throws RejectedMessageException {
        long end = from + fixedLength() + payload.remaining();
        for (int i = 0; i < storages.size(); i++) {
            if (regions.get(i) < 0) {
                end = aligned(end) + storages.get(i).sizeBytes();
            }
        }
        if (end > SocketFrame.MAX_BODY) {
            throw new RejectedMessageException(
                    ErrorCode.TOO_LARGE,
                    "a message has at most " + SocketFrame.MAX_BODY + " bytes in a frame, and this one has " + end);
        }
        return (int) end - from;
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
            boolean inlined = regions.get(i) < 0;
            inlineAt = inlined ? aligned(inlineAt) : inlineAt;
            frame.putLong(storages.get(i).sizeBytes()).putLong(inlined ? inlineAt : regions.get(i));
            frame.put((byte) (inlined ? 0 : 1)).put(new byte[7]);
            inlineAt += inlined ? storages.get(i).sizeBytes() : 0;
        }
        tensors.forEach(tensor -> put(frame, tensor));
        for (RRef reference : references) {
            put(frame, reference.retain(), handles);
        }
        frame.put(payload.duplicate());
        for (int i = 0; i < storages.size(); i++) {
            if (regions.get(i) < 0) {
                frame.position(bodyAt + (int) aligned(frame.position() - bodyAt));
                frame.put(storages.get(i).bytes(0, (int) storages.get(i).sizeBytes()));
            }
        }
    }

    /** Writes a reference, of which the table takes over the handle. */
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
