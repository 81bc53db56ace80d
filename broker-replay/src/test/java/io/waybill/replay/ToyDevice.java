package io.waybill.replay;

import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.device.DeviceMemory;
import io.waybill.device.DeviceSettings;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Converter for devices of the type toy, whose memory the broker can't read. Thread-safe. */
final class ToyDevice implements DeviceConverter {

    static final Device TOY = Device.parse("toy:0");

    final AtomicInteger live = new AtomicInteger();

    /** Settings of workers who send tensors on the device to each other, and the caller. */
    static WorkerSettings settings(String... workers) {
        DeviceSettings devices = DeviceSettings.NONE.withMap("caller", Map.of(TOY, TOY));
        for (String worker : workers) {
            devices = devices.withMap(worker, Map.of(TOY, TOY));
        }
        return Workers.SETTINGS.toBuilder().devices(devices).build();
    }

    /** A tensor of bytes on the device. */
    Tensor tensor(byte... content) {
        DeviceMemory memory = new DeviceMemory(TOY, content.length, live);
        System.arraycopy(content, 0, memory.content(), 0, content.length);
        return memory.tensor();
    }

    static byte[] content(Tensor tensor) {
        return ((DeviceMemory) tensor.storage()).content();
    }

    @Override
    public Optional<String> unavailable() {
        return Optional.empty();
    }

    @Override
    public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
        byte[] content = ((DeviceMemory) storage).content();
        Storage copy = buffers.allocate(content.length);
        copy.bytes(0, content.length).put(content);
        return Optional.of(copy);
    }

    @Override
    public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
        DeviceMemory memory = new DeviceMemory(target, (int) arrived.sizeBytes(), live);
        arrived.bytes(0, memory.content().length).get(memory.content());
        return memory;
    }
}
