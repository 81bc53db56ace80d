package io.waybill.device;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/** Storage on a device that a test makes up: on the heap, where the broker can't reach it. Thread-safe. */
public class DeviceMemory implements Storage {

    private final Device device;
    private final byte[] content;
    private final AtomicInteger live;
    private final AtomicInteger count = new AtomicInteger(1);

    /** @param live counts the storages that are not released */
    public DeviceMemory(Device device, int size, AtomicInteger live) {
        this(device, new byte[size], live);
    }

    /** Creates another storage over the same bytes. */
    protected DeviceMemory(Device device, byte[] content, AtomicInteger live) {
        this.device = device;
        this.content = content;
        this.live = live;
        live.incrementAndGet();
    }

    /** Returns the bytes. */
    public final byte[] content() {
        return content;
    }

    /** Returns a tensor of all bytes. */
    public final Tensor tensor() {
        return Tensor.contiguous(DType.UINT8, new long[] {content.length}, this);
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
    public final long address() {
        throw new IllegalStateException("not in host memory");
    }

    @Override
    public final ByteBuffer bytes(long offset, int length) {
        throw new IllegalStateException("not in host memory");
    }

    @Override
    public Storage retain() {
        if (count.getAndIncrement() < 1) {
            throw new IllegalStateException("retained after its release");
        }
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
            ended();
        }
    }

    /** Called when the last count was given back. */
    protected void ended() {}
}
