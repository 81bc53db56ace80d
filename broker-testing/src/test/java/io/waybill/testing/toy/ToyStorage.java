package io.waybill.testing.toy;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;

/** Memory of a toy, on the heap; the collector's, whatever the counts. */
record ToyStorage(Device device, byte[] content) implements Storage {

    @Override
    public long sizeBytes() {
        return content.length;
    }

    @Override
    public long address() {
        throw new IllegalStateException("not in host memory");
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        throw new IllegalStateException("not in host memory");
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
