package io.waybill.cli.show;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;

/** A storage for tests, over a buffer. Counts nothing. */
record ShownStorage(ByteBuffer buffer) implements Storage {

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
