package io.waybill.worker;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.device.MemorySharing;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.device.DeviceMemory;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Converter for devices of the type toy that shares their memory. Thread-safe. */
final class SharingToy extends MappedToy implements MemorySharing {

    final AtomicInteger opened = new AtomicInteger();
    volatile boolean shares = true;
    volatile boolean opens = true;
    private final Map<Integer, DeviceMemory> shared = new ConcurrentHashMap<>();

    @Override
    public Optional<ByteBuffer> share(Storage storage, List<DeviceStream> streams) {
        int id = System.identityHashCode(storage);
        shared.put(id, (DeviceMemory) storage);
        return shares ? Optional.of(ByteBuffer.allocate(4).putInt(id).flip()) : Optional.empty();
    }

    @Override
    public Storage open(ByteBuffer handle, Storage ofSender, Device target, List<DeviceStream> streams)
            throws RejectedMessageException {
        DeviceMemory memory = shared.get(handle.getInt());
        if (!opens) {
            throw new RejectedMessageException(ErrorCode.DEVICE_UNAVAILABLE, "not here");
        }
        opened.incrementAndGet();
        return new Opened(target, memory.content(), ofSender.retain());
    }

    /** Memory of another worker. */
    private final class Opened extends DeviceMemory {
        private final Storage ofSender;

        Opened(Device device, byte[] content, Storage ofSender) {
            super(device, content, live);
            this.ofSender = ofSender;
        }

        @Override
        protected void ended() {
            ofSender.release();
        }
    }
}
