package io.waybill.script.tensor;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.pytorch.TensorBase;

/**
 * A storage over libtorch's memory: results go from there to the wire without a copy on the Java heap.
 *
 * <p><b>Ownership.</b> Keeps libtorch's storage alive until its own last count is given back. <b>Threads.</b> As in
 * {@link Storage}.
 */
public final class TorchStorage implements Storage {

    private final TensorBase holder;
    private final long address;
    private final long sizeBytes;
    private final AtomicInteger count = new AtomicInteger(1);

    /**
     * Creates a storage with one count, which the caller owns.
     *
     * @param tensor over the storage, which its scope may free
     */
    public TorchStorage(TensorBase tensor, long address, long sizeBytes) {
        // Without the graph that computed it, which holds the arguments.
        this.holder = tensor.requires_grad() ? tensor.tensor_data() : new TensorBase(tensor);
        this.address = address;
        this.sizeBytes = sizeBytes;
        holder.retainReference();
    }

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public long address() {
        requireLive();
        return address;
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        Objects.checkFromIndexSize(offset, length, sizeBytes);
        requireLive();
        if (length == 0) {
            return ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder());
        }
        return new Address(address + offset).bytes(length).asByteBuffer().order(ByteOrder.nativeOrder());
    }

    @Override
    public Storage retain() {
        if (count.getAndUpdate(held -> held == 0 ? 0 : held + 1) == 0) {
            throw released();
        }
        return this;
    }

    @Override
    public void release() {
        int held = count.getAndUpdate(before -> before == 0 ? 0 : before - 1);
        if (held == 0) {
            throw released();
        }
        if (held == 1) {
            holder.releaseReference();
        }
    }

    private void requireLive() {
        if (count.get() == 0) {
            throw released();
        }
    }

    private static IllegalStateException released() {
        return new IllegalStateException("this storage is released");
    }
}
