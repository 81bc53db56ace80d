package io.waybill.autograd.call;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;

/**
 * Creates live tensors for received tensors that a graph may keep. A graph over a message's bytes holds them while the
 * context exists, and a sender has few regions. Therefore small and very large tensors are copied into libtorch's
 * memory, and all tensors while many are held.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> Each returned handle has a count, which the caller releases.
 */
public final class ArrivedTensors {

    /** Size up to which tensors are copied, because a copy costs less than a held region. */
    static final long MAX_SMALL_BYTES = 4096;
    /** Number of held storages of messages above which all are copied: an eighth of a sender's leases. */
    static final int MAX_HELD = 32;
    /** Size above which tensors are copied: 32 of them are half of a worker's max leases. */
    static final long MAX_HELD_BYTES = 64L << 20;

    private final NativeTensors natives;

    public ArrivedTensors(NativeTensors natives) {
        this.natives = natives;
    }

    /** Returns a live tensor that does not require a gradient, over the bytes of the message or a copy. */
    public NativeTensor take(Tensor tensor) throws RejectedMessageException {
        return isCopied(tensor) ? natives.copyOf(tensor) : taken(natives.of(tensor), false);
    }

    /** Returns a live sparse tensor that does not require a gradient. */
    public NativeTensor take(SparseTensor tensor) throws RejectedMessageException {
        return taken(natives.of(tensor), isCopied(tensor.values()));
    }

    /**
     * Passes live tensors for gradients to a function, which must not keep them; a missing gradient is an undefined
     * tensor.
     *
     * @param gradients of a {@code BackwardMessage}
     */
    @SuppressWarnings("try")
    public void with(List<Value> gradients, Consumer<List<org.bytedeco.pytorch.Tensor>> function)
            throws RejectedMessageException {
        List<NativeTensor> handles = new ArrayList<>(gradients.size());
        try (PointerScope scope = new PointerScope()) {
            List<org.bytedeco.pytorch.Tensor> live = new ArrayList<>(gradients.size());
            for (Value value : gradients) {
                live.add(value instanceof Value.None ? new org.bytedeco.pytorch.Tensor() : live(value, handles));
            }
            function.accept(live);
        } finally {
            release(handles);
        }
    }

    private org.bytedeco.pytorch.Tensor live(Value value, List<NativeTensor> handles) throws RejectedMessageException {
        NativeTensor handle =
                value instanceof Value.OfSparse sparse ? take(sparse.value()) : take(((Value.OfTensor) value).value());
        handles.add(handle);
        return handle.tensor();
    }

    @SuppressWarnings("try")
    private NativeTensor taken(NativeTensor handle, boolean isCopied) {
        boolean isKept = false;
        try (PointerScope scope = new PointerScope()) {
            org.bytedeco.pytorch.Tensor plain = handle.tensor().detach();
            NativeTensor taken = natives.hold(isCopied ? plain.clone() : plain);
            isKept = true;
            return taken;
        } finally {
            handle.release();
        }
    }

    private boolean isCopied(Tensor tensor) {
        long bytes = tensor.storage().sizeBytes();
        return bytes <= MAX_SMALL_BYTES || bytes > MAX_HELD_BYTES || natives.storageCount() >= MAX_HELD;
    }

    /**
     * Returns whether a tensor without a gradient must be copied before a graph uses it: a large one, or any while many
     * are held.
     */
    boolean isHeldTooLong(Tensor tensor) {
        long bytes = tensor.storage().sizeBytes();
        return bytes > MAX_HELD_BYTES || bytes > MAX_SMALL_BYTES && natives.storageCount() >= MAX_HELD;
    }

    /** Releases handles. */
    public static void release(List<NativeTensor> handles) {
        handles.forEach(NativeTensor::release);
    }
}
