package io.waybill.foreign;

import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.device.DeviceMemory;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Converter of a device that a test makes up, and the storages on it. Both misbehave as the culprit's row says. Thread-safe.
 *
 * @param receiving the threads on which tensors arrived
 */
record ToyDevice(Culprit culprit, Queue<String> receiving) implements DeviceConverter {

    private static final int BYTES = 100_000; // through a segment, whose lease has to come back

    ToyDevice(Culprit culprit) {
        this(culprit, new ConcurrentLinkedQueue<>());
    }

    /** A device that behaves. */
    static ToyDevice sound() {
        return new ToyDevice(sound(Storage.class));
    }

    private static Culprit sound(Class<?> on) {
        return new Culprit(new Row(on, "none", Misbehaviour.NULL));
    }

    /** A tensor on the device. */
    Tensor tensor() {
        Memory memory = new Memory(sound(Storage.class), Device.parse("toy:0"));
        Tensor tensor = memory.tensor(); // asks for its size
        memory.culprit = culprit;
        return tensor;
    }

    /** A tensor on a device that behaves. */
    static Tensor soundTensor() {
        return sound().tensor();
    }

    @Override
    public Optional<String> unavailable() {
        return culprit.in("unavailable", Optional.empty());
    }

    @Override
    public List<DeviceStream> streams(Device device) {
        return culprit.in("streams", List.of(() -> culprit.in(DeviceStream.class, "device", device)));
    }

    @Override
    public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
        Storage copy = buffers.allocate(BYTES);
        copy.bytes(0, BYTES).put(((Memory) storage).content());
        return given(copy, () -> culprit.in("prepareForSending", Optional.of(copy), storage, buffers));
    }

    @Override
    public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
        receiving.add(Thread.currentThread().getName());
        Memory memory = new Memory(culprit, target);
        arrived.bytes(0, BYTES).get(memory.content());
        return given(memory, () -> culprit.in("allocateForReceiving", memory, arrived));
    }

    /** Frees what was allocated when it is not returned, as a converter has to. */
    static <T> T given(Storage allocated, Supplier<T> result) {
        T returned = null;
        try {
            returned = result.get();
            return returned;
        } finally {
            if (returned == null) {
                allocated.release();
            }
        }
    }

    /** Memory on the device. */
    private static final class Memory extends DeviceMemory {
        private volatile Culprit culprit;

        Memory(Culprit culprit, Device device) {
            super(device, BYTES, new AtomicInteger());
            this.culprit = culprit;
        }

        @Override
        public Device device() {
            return culprit.in(Storage.class, "device", super.device());
        }

        @Override
        public long sizeBytes() {
            return culprit.in(Storage.class, "sizeBytes", super.sizeBytes());
        }

        @Override
        public Storage retain() {
            return culprit.in(Storage.class, "retain", super.retain());
        }

        @Override
        public void release() {
            super.release();
            culprit.in(Storage.class, "release", this);
        }
    }
}
