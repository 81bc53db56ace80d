package io.waybill.script.tensor;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * libtorch's view of the tensors of one call: over the same bytes, without a copy. Tensors over one storage share it in libtorch too.
 *
 * <p><b>Lifetime.</b> The {@code PointerScope} that is open during {@link #lease} frees libtorch's tensors; the bytes stay the
 * message's. Where what runs may keep a tensor, {@link #watched} ones live on until {@link #letGo}. <b>Threads.</b> One.
 */
public final class LeasedTensors {

    private static final ScalarType[] SCALAR_TYPES = new ScalarType[64];

    static {
        for (ScalarType type : ScalarType.values()) {
            if (type.value < SCALAR_TYPES.length) {
                SCALAR_TYPES[type.value] = type;
            }
        }
    }

    /** A storage with the tensor that first covered it. */
    private record Leased(Storage storage, long address, org.bytedeco.pytorch.Tensor tensor) {}

    private final boolean watched;
    private final List<Leased> storages = new ArrayList<>(4);
    private final List<Tensor> leased = new ArrayList<>(4);
    private final List<org.bytedeco.pytorch.Tensor> views = new ArrayList<>(4);

    private LeasedTensors(boolean watched) {
        this.watched = watched;
    }

    /** Returns leases for code that keeps no tensor. */
    public static LeasedTensors unwatched() {
        return new LeasedTensors(false);
    }

    /** Returns leases for code that may keep a tensor: call {@link #letGo} after the scope of the call was closed. */
    public static LeasedTensors watched() {
        return new LeasedTensors(true);
    }

    /** Frees libtorch's tensors, but for those that libtorch still uses: they go to {@code escaped} with their bytes. */
    public void letGo(EscapedTensors escaped) {
        for (int i = 0; i < storages.size(); i++) {
            Leased leased = storages.get(i);
            if (EscapedTensors.isUsedElsewhere(leased.tensor)) {
                escaped.keep(leased.storage, leased.tensor);
            } else {
                leased.tensor.releaseReference();
            }
        }
    }

    /**
     * libtorch's tensor over the bytes of this one; the same for the same tensor.
     *
     * @throws RejectedMessageException when libtorch cannot take it from here: other devices, negative strides
     */
    public org.bytedeco.pytorch.Tensor lease(Tensor tensor) throws RejectedMessageException {
        for (int i = 0; i < leased.size(); i++) {
            if (leased.get(i) == tensor) {
                return views.get(i);
            }
        }
        org.bytedeco.pytorch.Tensor view = view(tensor);
        if (tensor.requiresGrad()) {
            view.set_requires_grad(true);
        }
        leased.add(tensor);
        views.add(view);
        return view;
    }

    /**
     * libtorch's sparse tensor over the bytes of this one's indices and values.
     *
     * @throws RejectedMessageException as for a dense one
     * @throws RuntimeException libtorch's, when an index lies outside of the sizes, or those of a coalesced one are not in order
     */
    public org.bytedeco.pytorch.Tensor lease(SparseTensor tensor) throws RejectedMessageException {
        org.bytedeco.pytorch.Tensor indices = view(tensor.indices());
        org.bytedeco.pytorch.Tensor values = view(tensor.values());
        SparseCheck.check(indices, values, tensor.sizes(), tensor.isCoalesced());
        TensorOptions options = new TensorOptions(SCALAR_TYPES[tensor.dtype().code()]);
        org.bytedeco.pytorch.Tensor sparse = torch.sparse_coo_tensor(
                indices, values, tensor.sizes(), options, new BoolOptional(tensor.isCoalesced()));
        if (tensor.requiresGrad()) {
            sparse.set_requires_grad(true);
        }
        return sparse;
    }

    /** The message's storage that begins at this address; null when there is none. */
    public Storage storageAt(long address) {
        for (int i = 0; i < storages.size(); i++) {
            if (storages.get(i).address == address) {
                return storages.get(i).storage;
            }
        }
        return null;
    }

    private org.bytedeco.pytorch.Tensor view(Tensor tensor) throws RejectedMessageException {
        Storage storage = tensor.storage();
        if (!storage.device().isCpu()) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE, "operators run on cpu here, and " + tensor + " is not there");
        }
        TensorOptions options = new TensorOptions(SCALAR_TYPES[tensor.dtype().code()]);
        long[] sizes = tensor.sizes();
        if (storage.sizeBytes() == 0) {
            return torch.empty(sizes, options, null);
        }
        Leased leased = leased(storage);
        if (leased == null) {
            long address = storage.address();
            Address at = new Address(address);
            boolean isWhole = tensor.storageOffset() == 0
                    && tensor.elementBytes() == storage.sizeBytes()
                    && tensor.isContiguous();
            leased = new Leased(
                    storage,
                    address,
                    isWhole
                            ? torch.from_blob(at, sizes, options)
                            : torch.from_blob(
                                    at, new long[] {storage.sizeBytes()}, new TensorOptions(ScalarType.Byte)));
            if (watched) {
                leased.tensor.retainReference();
            }
            storages.add(leased);
            if (isWhole) {
                return leased.tensor;
            }
        }
        requireNoNegativeStride(tensor);
        return torch.empty(new long[] {0}, options, null)
                .set_(leased.tensor.storage(), tensor.storageOffset(), sizes, tensor.strides());
    }

    private Leased leased(Storage storage) {
        for (int i = 0; i < storages.size(); i++) {
            if (storages.get(i).storage == storage) {
                return storages.get(i);
            }
        }
        return null;
    }

    private static void requireNoNegativeStride(Tensor tensor) throws RejectedMessageException {
        for (int i = 0; i < tensor.dimensions(); i++) {
            if (tensor.stride(i) < 0) {
                throw new RejectedMessageException(
                        ErrorCode.REFUSED,
                        "libtorch has no negative strides: " + tensor + " has " + tensor.stride(i) + " in dimension "
                                + i);
            }
        }
    }
}
