package io.waybill.testing.core;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A storage for tests, over a buffer. Its counts have no effect. */
public record BufferStorage(ByteBuffer buffer) implements Storage {

    /** Creates a storage of this size, in which each byte is its index. */
    public static BufferStorage counting(int sizeBytes) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(sizeBytes);
        for (int i = 0; i < sizeBytes; i++) {
            bytes.put(i, (byte) i);
        }
        return new BufferStorage(bytes);
    }

    /** Creates a contiguous tensor of these elements. */
    public static Tensor floats(long[] sizes, float... elements) {
        ByteBuffer bytes =
                ByteBuffer.allocateDirect(elements.length * Float.BYTES).order(ByteOrder.nativeOrder());
        bytes.asFloatBuffer().put(elements);
        return Tensor.contiguous(DType.FLOAT32, sizes, new BufferStorage(bytes));
    }

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public long sizeBytes() {
        return buffer.capacity();
    }

    @Override
    public long address() {
        throw new IllegalStateException("not for native code");
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        return buffer.slice(Math.toIntExact(offset), length);
    }

    @Override
    public Storage retain() {
        return this;
    }

    @Override
    public void release() {
        // the collector's
    }
}
