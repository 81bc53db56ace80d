package io.waybill.worker;

import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Converter for devices of the type toy, whose memory is on the heap. Thread-safe. */
final class MappedToy implements DeviceConverter {

    final AtomicInteger sent = new AtomicInteger();
    final AtomicInteger live = new AtomicInteger();

    /** Makes a tensor on a device, whose bytes are all the same. */
    Tensor tensor(Device device, int size, int content) {
        Memory memory = new Memory(device, size, live);
        java.util.Arrays.fill(memory.content, (byte) content);
        return Tensor.contiguous(DType.UINT8, new long[] {size}, memory);
    }

    /** Returns the last byte of a tensor. */
    static int content(Tensor tensor) {
        byte[] content = ((Memory) tensor.storage()).content;
        return content[content.length - 1];
    }

    @Override
    public Optional<String> unavailable() {
        return Optional.empty();
    }

    @Override
    public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
        sent.incrementAndGet();
        byte[] content = ((Memory) storage).content;
        Storage copy = buffers.allocate(content.length);
        copy.bytes(0, content.length).put(content);
        return Optional.of(copy);
    }

    @Override
    public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
        Memory memory = new Memory(target, (int) arrived.sizeBytes(), live);
        arrived.bytes(0, memory.content.length).get(memory.content);
        return memory;
    }

    private static final class Memory implements Storage {
        private final Device device;
        private final byte[] content;
        private final AtomicInteger live;
        private final AtomicInteger count = new AtomicInteger(1);

        Memory(Device device, int size, AtomicInteger live) {
            this.device = device;
            this.content = new byte[size];
            this.live = live;
            live.incrementAndGet();
        }

        @Override
        public Device device() {
            return device;
        }

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
            count.incrementAndGet();
            return this;
        }

        @Override
        public void release() {
            int left = count.decrementAndGet();
            if (left < 0) {
                throw new IllegalStateException("released too often");
            }
            if (left == 0) {
                live.decrementAndGet();
            }
        }
    }
}
