package io.waybill.torch;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * libtorch's view of the tensors of one call: the native side that a tensor carries, or else a tensor over the same
 * bytes, without a copy. Tensors over one storage share it in libtorch, too.
 *
 * <p><b>Lifetime.</b> The {@code PointerScope} that is open during {@link #lease} frees libtorch's tensors. Counted
 * leases end with {@link #letGo}. <b>Threads.</b> One.
 */
public final class LeasedTensors {

    /** Form of leases: lifetime of the bytes of a call, and whether results keep their graph. */
    private enum Form {
        FOR_CALL,
        WHILE_USED,
        NATIVE
    }

    private static final ScalarType[] SCALAR_TYPES = new ScalarType[64];
    private static final AtomicReferenceArray<TensorOptions> OPTIONS = new AtomicReferenceArray<>(SCALAR_TYPES.length);

    static {
        for (ScalarType type : ScalarType.values()) {
            if (type.value < SCALAR_TYPES.length) {
                SCALAR_TYPES[type.value] = type;
            }
        }
    }

    /** A storage with the tensor that first covered it. */
    private record Leased(Storage storage, long address, org.bytedeco.pytorch.Tensor tensor) {}

    private final Form form;
    private boolean isEmpty = true;
    private final List<Leased> storages = new ArrayList<>(4);
    private final List<Tensor> leased = new ArrayList<>(4);
    private final List<org.bytedeco.pytorch.Tensor> views = new ArrayList<>(4);

    private LeasedTensors(Form form) {
        this.form = form;
    }

    /**
     * Returns leases for code that keeps no tensor beyond the call, and needs no graph: the message keeps the bytes.
     */
    public static LeasedTensors forCall() {
        return new LeasedTensors(Form.FOR_CALL);
    }

    /** Returns leases for code that may keep a tensor: call {@link #letGo} after the scope of the call was closed. */
    public static LeasedTensors whileUsed() {
        return new LeasedTensors(Form.WHILE_USED);
    }

    /** Returns counted leases for a call whose results keep their graph. */
    static LeasedTensors ofNative() {
        return new LeasedTensors(Form.NATIVE);
    }

    /**
     * Returns a description of the call's results. They carry their native side if these leases are of a native call,
     * or if no tensor was leased, so that a graph can't refer to bytes of the message.
     */
    public DescribedResults results() {
        return new DescribedResults(this);
    }

    /** Ends counted leases. Storages stay retained while libtorch uses them. */
    public void letGo() {
        if (form == Form.FOR_CALL) {
            return;
        }
        for (int i = 0; i < storages.size(); i++) {
            CountedBytes.letGo(storages.get(i).storage, storages.get(i).tensor);
        }
        CountedBytes.sweep();
    }

    boolean keepGraph() {
        return form == Form.NATIVE;
    }

    boolean isEmpty() {
        return isEmpty;
    }

    /**
     * Returns libtorch's tensor for this one; the same for the same tensor.
     *
     * @throws RejectedMessageException if libtorch can't use its memory: other devices, negative strides
     * @throws IllegalStateException when its storage is released
     */
    public org.bytedeco.pytorch.Tensor lease(Tensor tensor) throws RejectedMessageException {
        for (int i = 0; i < leased.size(); i++) {
            if (leased.get(i) == tensor) {
                return views.get(i);
            }
        }
        org.bytedeco.pytorch.Tensor view = live(tensor, false);
        if (view == null) {
            view = view(tensor);
            if (tensor.requiresGrad()) {
                view.set_requires_grad(true);
            }
        }
        isEmpty = false;
        leased.add(tensor);
        views.add(view);
        return view;
    }

    /**
     * Returns libtorch's sparse tensor for this one.
     *
     * @throws RejectedMessageException as for a dense one
     * @throws RuntimeException from libtorch, if an index lies outside of the sizes, or the indices of a coalesced
     *     tensor are not in order
     */
    public org.bytedeco.pytorch.Tensor lease(SparseTensor tensor) throws RejectedMessageException {
        isEmpty = false;
        org.bytedeco.pytorch.Tensor live = live(tensor.values(), true);
        if (live != null) {
            return live;
        }
        OperatorDevices.requireHost(tensor.values());
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

    /** Returns the native side of a tensor; null if it has none. A sparse tensor's is attached to its values. */
    private static org.bytedeco.pytorch.Tensor live(Tensor tensor, boolean isSparse) {
        NativeTensor side = NativeTensors.side(tensor);
        if (side == null) {
            return null;
        }
        try {
            org.bytedeco.pytorch.Tensor live = side.tensor();
            return live.is_sparse() == isSparse ? live : null;
        } finally {
            side.release();
        }
    }

    /** Returns the message's storage that begins at this address; null if there is none. */
    Storage storageAt(long address) {
        for (int i = 0; i < storages.size(); i++) {
            if (storages.get(i).address == address) {
                return storages.get(i).storage;
            }
        }
        return null;
    }

    /** Returns libtorch's options of a tensor with the element type of this one, which are never freed or changed. */
    @SuppressWarnings("try")
    static TensorOptions options(Tensor tensor) {
        int code = tensor.dtype().code();
        TensorOptions known = OPTIONS.get(code);
        if (known != null) {
            return known;
        }
        try (PointerScope scope = new PointerScope()) {
            TensorOptions made = new TensorOptions(SCALAR_TYPES[code]);
            made.retainReference();
            OPTIONS.set(code, made); // if two threads race, one uses its own
            return made;
        }
    }

    private org.bytedeco.pytorch.Tensor view(Tensor tensor) throws RejectedMessageException {
        Storage storage = tensor.storage();
        OperatorDevices.require(tensor);
        TensorOptions options = OperatorDevices.on(storage.device(), options(tensor));
        long[] sizes = tensor.sizes();
        if (storage.sizeBytes() == 0) {
            return torch.empty(sizes, options, null);
        }
        Leased leased = leased(storage);
        if (leased == null) {
            boolean isWhole = form == Form.FOR_CALL
                    && tensor.storageOffset() == 0
                    && tensor.elementBytes() == storage.sizeBytes()
                    && tensor.isContiguous();
            leased = isWhole
                    ? lease(storage, sizes, options)
                    : lease(
                            storage,
                            new long[] {storage.sizeBytes()},
                            OperatorDevices.on(storage.device(), new TensorOptions(ScalarType.Byte)));
            if (isWhole) {
                return leased.tensor;
            }
        }
        requireNoNegativeStride(tensor);
        return torch.empty(new long[] {0}, options, null)
                .set_(leased.tensor.storage(), tensor.storageOffset(), sizes, tensor.strides());
    }

    private Leased lease(Storage storage, long[] sizes, TensorOptions options) {
        long address = storage.deviceAddress();
        Leased lease = new Leased(storage, address, OperatorDevices.over(storage.device(), address, sizes, options));
        if (form != Form.FOR_CALL) {
            lease.tensor.retainReference();
        }
        storages.add(lease);
        return lease;
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
