package io.waybill.replay.compare;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;

/**
 * A storage for tests that takes no memory: zeros, but for one byte. Counts nothing.
 *
 * @param odd the place of the byte that is 1
 */
record HugeStorage(long sizeBytes, long odd) implements Storage {

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public long address() {
        throw new IllegalStateException("not for native code");
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        if (offset < 0 || offset + length > sizeBytes) {
            throw new IndexOutOfBoundsException(offset + " and " + length + " of " + sizeBytes);
        }
        ByteBuffer bytes = ByteBuffer.allocate(length);
        if (odd >= offset && odd < offset + length) {
            bytes.put((int) (odd - offset), (byte) 1);
        }
        return bytes;
    }

    @Override
    public Storage retain() {
        return this;
    }

    @Override
    public void release() {
        // nothing is held
    }
}
