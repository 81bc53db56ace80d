package io.waybill.tensor.memory;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;

/** Storage of the broker in host memory. Thread-safe. */
public interface HostBytes extends Storage {

    @Override
    default Device device() {
        return Device.CPU;
    }
}
