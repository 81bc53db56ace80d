package io.waybill.worker.call;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;

/** Memory of a tensor whose counts a test sees, and can make fail. For one thread. */
final class CountedStorage implements Storage {

    private static final int BYTES = 8;

    private int counts = 1;
    private Error failure; // of further counts; null for none

    Tensor tensor() {
        return Tensor.contiguous(DType.UINT8, new long[] {BYTES}, this);
    }

    int counts() {
        return counts;
    }

    /** Makes further counts throw. */
    void fail(Error planted) {
        failure = planted;
    }

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public long sizeBytes() {
        return BYTES;
    }

    @Override
    public long address() {
        return 0;
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        return ByteBuffer.allocate(length);
    }

    @Override
    public Storage retain() {
        if (failure != null) {
            throw failure;
        }
        counts++;
        return this;
    }

    @Override
    public void release() {
        counts--;
    }
}
