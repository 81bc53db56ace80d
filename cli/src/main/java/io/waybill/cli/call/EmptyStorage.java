package io.waybill.cli.call;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;

/** Storage of a placeholder tensor whose file was not read yet: it has no bytes, and its count has no effect. */
enum EmptyStorage implements Storage {
    INSTANCE;

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public long sizeBytes() {
        return 0;
    }

    @Override
    public long address() {
        throw new IllegalStateException("there are no bytes");
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        throw new IndexOutOfBoundsException("there are no bytes");
    }

    @Override
    public Storage retain() {
        return this;
    }

    @Override
    public void release() {
        // counts have no effect
    }
}
