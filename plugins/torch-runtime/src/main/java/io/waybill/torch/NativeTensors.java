package io.waybill.torch;

import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.global.torch;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Converter between tensors of messages and live libtorch tensors. A tensor of a message may carry its native side: a
 * handler in the same worker that receives it computes with the live tensor, and the graph continues.
 *
 * <p><b>The native side</b> belongs to the {@link Tensor} object: {@link #describe} creates it, and it lasts as long as
 * the tensor's storage. Another tensor over the same storage lacks it, and it never leaves the process: a message to
 * another worker carries bytes.
 *
 * <p><b>Threads.</b> Any. Grad mode is that of the calling thread.
 */
@Component(service = NativeTensors.class)
public final class NativeTensors {

    private final OperatorEvents operatorEvents = new OperatorEvents();

    /**
     * Creates the service.
     *
     * @throws IllegalStateException if libtorch can't be loaded, with the missing file and what to do
     */
    @Activate
    public NativeTensors(@Reference LibTorch libTorch) {
        libTorch.load();
    }

    /**
     * Creates a handle of a live tensor.
     *
     * @param tensor live tensor, which the caller owns
     * @return the handle, with one count, which the caller owns
     * @throws IllegalArgumentException when the tensor is undefined, or was freed by its {@code PointerScope}
     */
    public NativeTensor hold(org.bytedeco.pytorch.Tensor tensor) {
        return NativeTensor.of(tensor);
    }

    /**
     * Returns the native side of a tensor, with one count, which the caller owns; empty when it carries none.
     *
     * @throws IllegalStateException when the tensor's storage is released
     */
    public Optional<NativeTensor> find(Tensor tensor) {
        return Optional.ofNullable(side(tensor));
    }

    /**
     * Creates a handle for each tensor of a message: of its native side, or of a new tensor over its bytes, without a
     * copy. The storage is retained while libtorch uses the bytes, for example in a graph. Tensors over one storage
     * share it in libtorch.
     *
     * @return the handles, each with one count, which the caller owns
     * @throws RejectedMessageException if libtorch can't use the memory of one: other devices, negative strides
     */
    @SuppressWarnings("try")
    public List<NativeTensor> of(List<Tensor> tensors) throws RejectedMessageException {
        List<NativeTensor> handles = new ArrayList<>(tensors.size());
        boolean done = false;
        LeasedTensors leases = LeasedTensors.whileUsed();
        try (PointerScope scope = new PointerScope()) {
            for (Tensor tensor : tensors) {
                handles.add(NativeTensor.of(leases.lease(tensor)));
            }
            done = true;
        } finally {
            if (!done) {
                handles.forEach(NativeTensor::release);
            }
            leases.letGo();
        }
        return handles;
    }

    /** Creates a handle for one tensor of a message, like {@link #of(List)}. */
    public NativeTensor of(Tensor tensor) throws RejectedMessageException {
        return of(List.of(tensor)).get(0);
    }

    /**
     * Creates a handle for a copy of a tensor in libtorch's memory: without its graph, and not requiring a gradient.
     * For small tensors, which cost less to copy than to lease.
     *
     * @return the handle, with one count, which the caller owns
     * @throws RejectedMessageException as {@link #of(List)} does
     */
    @SuppressWarnings("try")
    public NativeTensor copyOf(Tensor tensor) throws RejectedMessageException {
        Storage storage = tensor.storage();
        long bytes = tensor.elementBytes();
        boolean isPlain = bytes > 0 && storage.device().isCpu() && tensor.isContiguous() && !mayHaveSide(tensor);
        try (PointerScope scope = new PointerScope()) {
            if (isPlain) {
                org.bytedeco.pytorch.Tensor copy = torch.empty(tensor.sizes(), LeasedTensors.options(tensor), null);
                long from = storage.address()
                        + tensor.storageOffset() * tensor.dtype().sizeBytes();
                Pointer.memcpy(copy.data_ptr(), new Address(from), bytes);
                return NativeTensor.own(copy);
            }
            NativeTensor leased = of(tensor);
            try {
                return NativeTensor.own(leased.tensor().detach().clone());
            } finally {
                leased.release();
            }
        }
    }

    /**
     * Makes a handle for a sparse tensor of a message.
     *
     * @throws RuntimeException libtorch's, when an index lies outside of the sizes
     */
    @SuppressWarnings("try")
    public NativeTensor of(SparseTensor tensor) throws RejectedMessageException {
        LeasedTensors leases = LeasedTensors.whileUsed();
        try (PointerScope scope = new PointerScope()) {
            return NativeTensor.of(leases.lease(tensor));
        } finally {
            leases.letGo();
        }
    }

    /**
     * Describes live tensors for a message: a {@link Value.OfTensor}, or a {@link Value.OfSparse}, for each. They carry
     * their native side. Tensors that share memory share a storage. An operator can no longer resize that memory.
     *
     * @return the values; each tensor brings one count of its storage, which the caller releases or hands over
     * @throws RejectedMessageException when one does not travel: other layouts, devices and element types
     */
    @SuppressWarnings("try")
    public List<Value> describe(List<NativeTensor> handles) throws RejectedMessageException {
        List<Value> values = new ArrayList<>(handles.size());
        DescribedResults described = leases().results();
        boolean done = false;
        try (PointerScope scope = new PointerScope()) {
            for (NativeTensor handle : handles) {
                values.add(described.value(handle.tensor()));
            }
            done = true;
            return values;
        } finally {
            if (!done) {
                described.release();
            }
        }
    }

    /** Describes one live tensor, as {@link #describe(List)} does. */
    public Value describe(NativeTensor handle) throws RejectedMessageException {
        return describe(List.of(handle)).get(0);
    }

    /** Returns leases for a call whose results carry their native side. */
    public LeasedTensors leases() {
        return LeasedTensors.ofNative();
    }

    /** Returns whether any argument of the call carries its native side. */
    public static boolean isAnyIn(Invocation call) {
        return isAny(call.positional())
                || !call.named().isEmpty() && isAny(call.named().values());
    }

    private static boolean isAny(Iterable<Value> values) {
        for (Value value : values) {
            if (isAny(value)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isAny(Value value) {
        if (value instanceof Value.OfTensor dense) {
            return mayHaveSide(dense.value());
        } else if (value instanceof Value.OfSparse sparse) {
            return mayHaveSide(sparse.value().values());
        } else if (value instanceof Value.Items items) {
            return isAny(items.values());
        } else if (value instanceof Value.Tuple tuple) {
            return isAny(tuple.values());
        } else if (value instanceof Value.Dict dict) {
            return isAny(dict.entries().values()) || isAny(dict.entries().keySet());
        }
        return false;
    }

    private static boolean mayHaveSide(Tensor tensor) {
        return tensor.storage() instanceof NativeStorage storage && storage.hasSides();
    }

    /** Returns the native side with a count for the caller; null when there is none. */
    static NativeTensor side(Tensor tensor) {
        return mayHaveSide(tensor) ? ((NativeStorage) tensor.storage()).side(tensor) : null;
    }

    /** Returns the operators that libtorch runs, for a listener. */
    public OperatorEvents operatorEvents() {
        return operatorEvents;
    }

    /** Returns the number of handles of this process that are not released. */
    public int liveCount() {
        return NativeTensor.liveCount();
    }

    /** Returns how many storages of messages libtorch uses beyond a call. */
    public int storageCount() {
        return CountedBytes.count();
    }
}
