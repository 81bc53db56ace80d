package io.waybill.device;

import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import java.util.List;
import java.util.Optional;

/** Converter of host memory: sends storages as they are, and uses arrived ones in place. Immutable. */
public final class CpuConverter implements DeviceConverter {

    @Override
    public Optional<String> unavailable() {
        return Optional.empty();
    }

    @Override
    public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
        return Optional.empty();
    }

    @Override
    public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
        return arrived.retain();
    }
}
