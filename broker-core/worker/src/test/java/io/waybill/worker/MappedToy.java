package io.waybill.worker;

import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.device.DeviceMemory;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Converter for devices of the type toy, whose memory is on the heap. Thread-safe. */
class MappedToy implements DeviceConverter {

    final AtomicInteger sent = new AtomicInteger();
    final AtomicInteger live = new AtomicInteger();

    /** Makes a tensor on a device, whose bytes are all the same. */
    Tensor tensor(Device device, int size, int content) {
        DeviceMemory memory = new DeviceMemory(device, size, live);
        Arrays.fill(memory.content(), (byte) content);
        return memory.tensor();
    }

    /** Returns the last byte of a tensor. */
    static int content(Tensor tensor) {
        byte[] content = ((DeviceMemory) tensor.storage()).content();
        return content[content.length - 1];
    }

    @Override
    public Optional<String> unavailable() {
        return Optional.empty();
    }

    @Override
    public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
        sent.incrementAndGet();
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
