package io.waybill.script;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.BytePointer;

/** A storage in a direct buffer, aligned like the broker's, that counts as a storage of a message does. */
final class DirectStorage implements Storage {

    private static final int ALIGNMENT = 64;

    final AtomicInteger count = new AtomicInteger(1);
    private final ByteBuffer bytes;
    private final Device device;
    private long address;

    DirectStorage(int sizeBytes) {
        this(sizeBytes, Device.CPU);
    }

    DirectStorage(int sizeBytes, Device device) {
        this.bytes = ByteBuffer.allocateDirect(sizeBytes + 2 * ALIGNMENT)
                .alignedSlice(ALIGNMENT)
                .slice(0, sizeBytes)
                .order(ByteOrder.nativeOrder());
        this.device = device;
    }

    static Tensor floats(long[] sizes, double... elements) {
        DirectStorage storage = new DirectStorage(4 * elements.length);
        for (int i = 0; i < elements.length; i++) {
            storage.bytes.putFloat(4 * i, (float) elements[i]);
        }
        return Tensor.contiguous(DType.FLOAT32, sizes, storage);
    }

    static Tensor longs(long[] sizes, long... elements) {
        DirectStorage storage = new DirectStorage(8 * elements.length);
        for (int i = 0; i < elements.length; i++) {
            storage.bytes.putLong(8 * i, elements[i]);
        }
        return Tensor.contiguous(DType.INT64, sizes, storage);
    }

    static Tensor bools(long[] sizes, boolean... elements) {
        DirectStorage storage = new DirectStorage(elements.length);
        for (int i = 0; i < elements.length; i++) {
            storage.bytes.put(i, (byte) (elements[i] ? 1 : 0));
        }
        return Tensor.contiguous(DType.BOOL, sizes, storage);
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public long sizeBytes() {
        return bytes.capacity();
    }

    @Override
    public long address() {
        requireLive();
        if (address == 0) {
            address = new BytePointer(bytes).address();
        }
        return address;
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        requireLive();
        return bytes.slice((int) offset, length).order(ByteOrder.nativeOrder());
    }

    @Override
    public Storage retain() {
        requireLive();
        count.incrementAndGet();
        return this;
    }

    @Override
    public void release() {
        requireLive();
        count.decrementAndGet();
    }

    private void requireLive() {
        if (count.get() <= 0) {
            throw new IllegalStateException("released");
        }
    }
}
