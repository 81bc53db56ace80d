package io.waybill.cli.npy;

import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Elements of a tensor in an order that a file can express. Reads the storage in place; gathers elements if necessary.
 */
final class Elements {

    private static final int CHUNK_BYTES = 1 << 20;

    private final Tensor tensor;
    private final int size;
    private final boolean isFortranOrder;

    /** Receiver of chunks of elements. */
    interface Sink {
        void accept(ByteBuffer chunk) throws IOException;
    }

    private Elements(Tensor tensor, boolean isFortranOrder) {
        this.tensor = tensor;
        this.size = tensor.dtype().sizeBytes();
        this.isFortranOrder = isFortranOrder;
    }

    /** Returns the elements in their order in memory if a file can express it; otherwise row by row. */
    static Elements asTheyLie(Tensor tensor) {
        return new Elements(tensor, !tensor.isContiguous() && isColumnMajor(tensor));
    }

    /** Returns the elements row by row, so that neighbours of the last dimension are adjacent. */
    static Elements byRows(Tensor tensor) {
        return new Elements(tensor, false);
    }

    private static boolean isColumnMajor(Tensor tensor) {
        long stride = 1;
        for (int i = 0; i < tensor.dimensions(); i++) {
            if (tensor.size(i) != 1) {
                if (tensor.stride(i) != stride) {
                    return false;
                }
                stride *= tensor.size(i);
            }
        }
        return true;
    }

    /** Returns whether {@link #writeTo} writes neighbours of the first dimension adjacently. */
    boolean isFortranOrder() {
        return isFortranOrder;
    }

    void writeTo(Sink sink) throws IOException {
        if (tensor.elementCount() == 0) {
            return;
        }
        if (isFortranOrder || tensor.isContiguous()) {
            copy(sink);
        } else {
            gather(sink);
        }
    }

    private void copy(Sink sink) throws IOException {
        long start = tensor.storageOffset() * size;
        long length = tensor.elementBytes();
        for (long done = 0; done < length; done += CHUNK_BYTES) {
            sink.accept(tensor.storage().bytes(start + done, (int) Math.min(CHUNK_BYTES, length - done)));
        }
    }

    private void gather(Sink sink) throws IOException {
        ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK_BYTES);
        Storage storage = tensor.storage();
        int last = tensor.dimensions() - 1;
        long rowLength = tensor.size(last);
        long stride = tensor.stride(last);
        long[] position = new long[last];
        do {
            long row = tensor.storageOffset();
            for (int i = 0; i < last; i++) {
                row += position[i] * tensor.stride(i);
            }
            for (long column = 0; column < rowLength; column++) {
                if (chunk.remaining() < size) {
                    sink.accept(chunk.flip());
                    chunk.clear();
                }
                chunk.put(storage.bytes((row + column * stride) * size, size));
            }
        } while (advance(position));
        sink.accept(chunk.flip());
    }

    /** Moves to the next row; false after the last one. */
    private boolean advance(long[] position) {
        for (int i = position.length - 1; i >= 0; i--) {
            if (++position[i] < tensor.size(i)) {
                return true;
            }
            position[i] = 0;
        }
        return false;
    }
}
