package io.waybill.tensor;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Copy of the bytes of a device's storage, in host memory. A worker keeps a value in this form, because the storage
 * itself is of a bundle's class, which may be unloaded. It is sent as if it were on the device. Counting is
 * thread-safe.
 */
public final class DeviceCopy implements Storage {

    private static final String TEXT = "the storage is kept for a device, and is not in host memory for its user";

    private final Device device;
    private final Storage host;

    /** Creates a copy that acquires the caller's count of {@code host}. */
    public DeviceCopy(Device device, Storage host) {
        this.device = device;
        this.host = host;
    }

    /** Returns whether one of the tensors is over a storage of this class. */
    public static boolean isAmong(List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            if (tensors.get(i).storage() instanceof DeviceCopy) {
                return true;
            }
        }
        return false;
    }

    /**
     * Puts tensors on their devices. Each tensor of the result holds one count of its storage; the given ones are
     * released.
     */
    static List<Tensor> placed(List<Tensor> tensors, DeviceMoves moves) throws RejectedMessageException {
        return List.copyOf(DeviceTensors.moved(
                tensors,
                (storage, tensor) -> storage instanceof DeviceCopy copy
                        ? moves.allocate(copy.host, copy.device)
                        : storage.retain()));
    }

    Storage host() {
        return host;
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public long sizeBytes() {
        return host.sizeBytes();
    }

    @Override
    public long address() {
        throw new IllegalStateException(TEXT);
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        throw new IllegalStateException(TEXT);
    }

    @Override
    public DeviceCopy retain() {
        host.retain();
        return this;
    }

    @Override
    public void release() {
        host.release();
    }
}
