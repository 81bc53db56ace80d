package io.waybill.torch;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.TensorBase;

/**
 * A storage over libtorch's memory: results are sent from there without a copy on the Java heap. Tensors over it may
 * carry their native side: the live tensor that they describe.
 *
 * <p><b>Ownership.</b> Keeps libtorch's storage and the native sides alive until its own last count is released.
 * <b>Threads.</b> As in {@link Storage}. The creating thread adds native sides before it publishes the storage.
 */
final class NativeStorage implements Storage {

    /** A tensor of a message with its native side. */
    private record Side(Tensor tensor, NativeTensor live) {}

    private final TensorBase holder;
    private final Device device;
    private final long address; // on the device
    private final long sizeBytes;
    private final AtomicInteger count = new AtomicInteger(1);
    private final List<Side> sides = new ArrayList<>(0);

    /**
     * Creates a storage with one count, which the caller owns.
     *
     * @param tensor over the storage, which its scope may free
     */
    @SuppressWarnings("try")
    NativeStorage(org.bytedeco.pytorch.Tensor tensor, long address, long sizeBytes) {
        try (PointerScope scope = new PointerScope()) {
            // Without the graph that computed it, which holds the arguments.
            this.holder = tensor.requires_grad() ? tensor.tensor_data() : new TensorBase(tensor);
            holder.retainReference();
        }
        this.device = OperatorDevices.of(tensor);
        this.address = address;
        this.sizeBytes = sizeBytes;
    }

    /**
     * Adds the native side of a tensor over this storage. From now on a resize can't replace the memory, which would
     * invalidate its address.
     */
    void add(Tensor tensor, org.bytedeco.pytorch.Tensor live) {
        if (sides.isEmpty()) {
            holder.storage().unsafeGetStorageImpl().set_resizable(false);
        }
        sides.add(new Side(tensor, NativeTensor.of(live)));
    }

    /** Returns whether any tensor over this has a native side. */
    boolean hasSides() {
        return !sides.isEmpty();
    }

    /** Returns whether any tensor over this has a native side, which a copy would not have. */
    @Override
    public boolean isLive() {
        return hasSides();
    }

    /**
     * Returns the native side of this tensor with a count for the caller; null if it has none.
     *
     * @throws IllegalStateException if this storage is released
     */
    NativeTensor side(Tensor tensor) {
        retain();
        try {
            for (int i = 0; i < sides.size(); i++) {
                if (sides.get(i).tensor == tensor) {
                    return sides.get(i).live.retain();
                }
            }
            return null;
        } finally {
            release();
        }
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public long address() {
        requireLive();
        requireHost();
        return address;
    }

    @Override
    public long deviceAddress() {
        requireLive();
        return address;
    }

    private void requireHost() {
        if (!device.isCpu()) {
            throw new IllegalStateException("the storage is on a device, and not in host memory: " + device);
        }
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        Objects.checkFromIndexSize(offset, length, sizeBytes);
        requireLive();
        requireHost();
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
            sides.forEach(side -> side.live.release());
            holder.releaseReference();
            if (hasSides()) {
                CountedBytes.sweep();
            }
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
