package io.waybill.kept;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Storages on the heap that know how many of them are not given back, and how many bytes were asked for. */
final class CountedBuffers implements TensorBuffers {

    int live;
    long asked;

    @Override
    public Storage allocate(long sizeBytes) {
        asked += sizeBytes;
        live++;
        return new Counted(ByteBuffer.allocate(Math.toIntExact(sizeBytes)).order(ByteOrder.nativeOrder()));
    }

    private final class Counted implements Storage {
        private final ByteBuffer bytes;
        private int count = 1;

        Counted(ByteBuffer bytes) {
            this.bytes = bytes;
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
            throw new IllegalStateException("on the heap");
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            return bytes.slice((int) offset, length).order(ByteOrder.nativeOrder());
        }

        @Override
        public Storage retain() {
            count++;
            return this;
        }

        @Override
        public void release() {
            if (--count == 0) {
                live--;
            }
        }
    }
}
