package io.waybill.testing.core;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Allocator of host memory for a test without a broker, which counts unreleased storages. Not for native code: storages
 * have no address. Thread-safe.
 */
public final class TestBuffers implements TensorBuffers {

    private final AtomicInteger live = new AtomicInteger();

    /** Returns the number of unreleased storages. */
    public int live() {
        return live.get();
    }

    @Override
    public Storage allocate(long sizeBytes) {
        live.incrementAndGet();
        return new Counted(ByteBuffer.allocateDirect(Math.toIntExact(sizeBytes)));
    }

    /** Memory with a count. */
    private final class Counted implements Storage {
        private final ByteBuffer bytes;
        private final AtomicInteger count = new AtomicInteger(1);

        Counted(ByteBuffer bytes) {
            this.bytes = bytes;
        }

        private void requireLive() {
            if (count.get() <= 0) {
                throw new IllegalStateException("the storage is released");
            }
        }

        @Override
        public Device device() {
            return Device.CPU;
        }

        @Override
        public long sizeBytes() {
            return bytes.capacity();
        }

        @Override
        public long address() {
            throw new IllegalStateException("memory of a test has no address for native code");
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            requireLive();
            return bytes.slice(Math.toIntExact(offset), length).order(ByteOrder.nativeOrder());
        }

        @Override
        public Storage retain() {
            requireLive();
            count.incrementAndGet();
            return this;
        }

        @Override
        public void release() {
            int left = count.decrementAndGet();
            if (left < 0) {
                throw new IllegalStateException("the storage is released too often");
            }
            if (left == 0) {
                live.decrementAndGet();
            }
        }
    }
}
