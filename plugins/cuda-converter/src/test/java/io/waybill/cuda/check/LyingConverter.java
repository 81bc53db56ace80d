package io.waybill.cuda.check;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.device.MemorySharing;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.cuda.converter.CudaConverter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;

/**
 * A converter whose handles lie about where a storage is.
 *
 * @param offset of the storage in its allocation, in bytes, as it says
 */
record LyingConverter(CudaConverter honest, long offset) implements DeviceConverter, MemorySharing {

    private static final int OFFSET_AT = 32;

    @Override
    public Optional<String> unavailable() {
        return honest.unavailable();
    }

    @Override
    public List<DeviceStream> streams(Device device) throws RejectedMessageException {
        return honest.streams(device);
    }

    @Override
    public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers)
            throws RejectedMessageException {
        return honest.prepareForSending(storage, streams, buffers);
    }

    @Override
    public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams)
            throws RejectedMessageException {
        return honest.allocateForReceiving(arrived, target, streams);
    }

    @Override
    public Optional<ByteBuffer> share(Storage storage, List<DeviceStream> streams) throws RejectedMessageException {
        return honest.share(storage, streams)
                .map(handle -> handle.order(ByteOrder.LITTLE_ENDIAN).putLong(OFFSET_AT, offset));
    }

    @Override
    public Storage open(ByteBuffer handle, Storage shared, Device target, List<DeviceStream> streams)
            throws RejectedMessageException {
        return honest.open(handle, shared, target, streams);
    }
}
