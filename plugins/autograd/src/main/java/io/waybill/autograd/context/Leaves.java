package io.waybill.autograd.context;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Live tensors for the tensors of messages: the native side that a tensor carries; for a tensor without one, a leaf
 * over its bytes, which is the same for the same object while the context exists.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> Each returned handle has a count, which the caller releases.
 */
public final class Leaves {

    private final NativeTensors natives;
    private final Map<Tensor, NativeTensor> made = new IdentityHashMap<>(); // guarded by this
    private boolean isClosed; // guarded by this

    Leaves(NativeTensors natives) {
        this.natives = natives;
    }

    /**
     * Returns the live tensor.
     *
     * @param whole the sparse tensor with the values {@code tensor}; null for a dense one
     * @throws RejectedMessageException if libtorch can't use its memory
     */
    public NativeTensor of(Tensor tensor, SparseTensor whole) throws RejectedMessageException {
        Optional<NativeTensor> found = find(tensor);
        return found.isPresent() ? found.get() : make(tensor, whole);
    }

    private synchronized NativeTensor make(Tensor tensor, SparseTensor whole) throws RejectedMessageException {
        NativeTensor leaf = whole == null ? natives.of(tensor) : natives.of(whole);
        if (!isClosed) {
            made.put(tensor, leaf.retain());
        }
        return leaf;
    }

    /** Returns the live tensor; empty if it has no native side, and none was created in this context. */
    public Optional<NativeTensor> find(Tensor tensor) {
        Optional<NativeTensor> side = natives.find(tensor);
        if (side.isPresent()) {
            return side;
        }
        synchronized (this) {
            return Optional.ofNullable(made.get(tensor)).map(NativeTensor::retain);
        }
    }

    /** Transfers the created leaves, with their tensors, in the same order. */
    synchronized void archive(List<Tensor> tensors, List<NativeTensor> handles) {
        isClosed = true;
        made.forEach((tensor, handle) -> {
            tensors.add(tensor);
            handles.add(handle);
        });
        made.clear();
    }

    synchronized void restore(List<Tensor> tensors, List<NativeTensor> handles) {
        for (int i = 0; i < handles.size(); i++) {
            made.put(tensors.get(i), handles.get(i));
        }
    }

    /** Releases the created leaves. */
    synchronized void close() {
        isClosed = true;
        made.values().forEach(NativeTensor::release);
        made.clear();
    }
}
