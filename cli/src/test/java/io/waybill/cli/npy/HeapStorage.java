package io.waybill.cli.npy;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;

/** A storage for tests; counts what is given back. */
final class HeapStorage implements Storage {

    final ByteBuffer bytes;
    int count = 1;

    HeapStorage(long size) {
        bytes = ByteBuffer.allocateDirect(Math.toIntExact(size));
    }

    HeapStorage(byte... content) {
        this(content.length);
        bytes.put(0, content);
    }

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public long sizeBytes() {
        return bytes.capacity();
    }

    @Override
    public long address() {
        throw new IllegalStateException("not for native code");
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        return bytes.slice(Math.toIntExact(offset), length);
    }

    @Override
    public Storage retain() {
        count++;
        return this;
    }

    @Override
    public void release() {
        count--;
    }
}
