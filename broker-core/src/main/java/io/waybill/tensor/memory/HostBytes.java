package io.waybill.tensor.memory;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;

/** A storage of ours in host memory. Thread-safe. */
public interface HostBytes extends Storage {

    @Override
    default Device device() {
        return Device.CPU;
    }

    /**
     * Returns the address of the first byte, for reading within the broker: other than {@link #address()} it does not say that a receiver
     * may write.
     */
    default long readAddress() {
        return address();
    }

    /** Returns the address at which the broker reads the bytes of a storage in host memory. */
    static long readAddress(Storage storage) {
        return storage instanceof HostBytes ours ? ours.readAddress() : storage.address();
    }
}
