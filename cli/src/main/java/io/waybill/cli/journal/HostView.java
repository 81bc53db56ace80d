package io.waybill.cli.journal;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;

/** The bytes of a stored storage in host memory, whatever its device was. Thread-safe if the storage is. */
record HostView(Storage of) implements Storage {

    static HostView of(Storage storage) {
        return new HostView(storage);
    }

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public long sizeBytes() {
        return of.sizeBytes();
    }

    @Override
    public long address() {
        return of.address();
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        return of.bytes(offset, length);
    }

    @Override
    public Storage retain() {
        return this;
    }

    @Override
    public void release() {
        // holds no resources
    }
}
