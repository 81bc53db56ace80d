package io.waybill.tensor;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * The bytes of a storage on a device, in host memory. A worker keeps a value so, because the storage itself is of a bundle's class, which may
 * leave. It is sent as if it were on the device. Counting is thread-safe.
 */
public final class DeviceCopy implements Storage {

    private static final String TEXT = "the storage is kept for a device, and is not in host memory for its user";

    private final Device device;
    private final Storage host;

    /** Takes over the count of {@code host}. */
    public DeviceCopy(Device device, Storage host) {
        this.device = device;
        this.host = host;
    }

    /** Returns whether one of the tensors is over such a storage. */
    public static boolean isAmong(List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            if (tensors.get(i).storage() instanceof DeviceCopy) {
                return true;
            }
        }
        return false;
    }

    /** Puts tensors on their devices. Each tensor of the result holds one count of its storage; those that were given are released. */
    static List<Tensor> placed(List<Tensor> tensors, DeviceMoves moves) throws RejectedMessageException {
        Map<Storage, Storage> made = new IdentityHashMap<>();
        List<Tensor> placed = new ArrayList<>(tensors.size());
        try {
            for (Tensor tensor : tensors) {
                Storage storage = made.get(tensor.storage());
                if (storage != null) {
                    storage.retain();
                } else if (tensor.storage() instanceof DeviceCopy copy) {
                    storage = moves.allocate(copy.host, copy.device);
                    made.put(copy, storage);
                } else {
                    storage = tensor.storage().retain();
                }
                placed.add(new Tensor(
                        tensor.dtype(),
                        tensor.sizes(),
                        tensor.strides(),
                        tensor.storageOffset(),
                        tensor.requiresGrad(),
                        storage));
            }
        } catch (RejectedMessageException | RuntimeException | Error e) {
            Storages.releaseAll(placed);
            throw e;
        }
        Storages.releaseAll(tensors);
        return List.copyOf(placed);
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
