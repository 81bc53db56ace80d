package io.waybill.torch;

import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * A counted handle of a live libtorch tensor, with the autograd graph that computed it. Bundles pass it to one another
 * instead of libtorch's objects, because the late use of a handle throws, while that of libtorch's object would crash
 * the process.
 *
 * <p><b>Ownership.</b> The creator of a handle holds one count of it. The last {@link #release()} releases libtorch's
 * tensor, and with it the graph, unless libtorch itself or another handle uses them. <b>Lifetime.</b> Bundles may hold
 * it across updates of each other, and release it after the framework has stopped: libtorch stays loaded until the
 * process exits. <b>Threads.</b> Any.
 */
public final class NativeTensor {

    /** Number of handles of this process that are not released. */
    private static final AtomicInteger LIVE = new AtomicInteger();

    private final Tensor holder;
    private final AtomicInteger count = new AtomicInteger(1);

    private NativeTensor(Tensor holder) {
        this.holder = holder;
    }

    /** Creates a handle of a tensor, with one count. */
    @SuppressWarnings("try")
    static NativeTensor of(Tensor tensor) {
        requireDefined(tensor);
        try (PointerScope scope = new PointerScope()) {
            Tensor holder = new Tensor(tensor);
            holder.retainReference();
            LIVE.incrementAndGet();
            return new NativeTensor(holder);
        }
    }

    /** Creates a handle that takes ownership of an object of the caller's {@code PointerScope}, with one count. */
    static NativeTensor own(Tensor tensor) {
        tensor.retainReference();
        LIVE.incrementAndGet();
        return new NativeTensor(tensor);
    }

    static void requireDefined(Tensor tensor) {
        if (tensor == null || tensor.isNull() || !tensor.defined()) {
            throw new IllegalArgumentException("a native tensor is a defined one: "
                    + (tensor == null || tensor.isNull() ? "null, or freed by its PointerScope" : "undefined"));
        }
    }

    static int liveCount() {
        return LIVE.get();
    }

    /**
     * Returns libtorch's tensor: a new object for the same tensor, which the caller's {@code PointerScope} frees, or
     * otherwise the garbage collector. It stays valid after the release of this handle.
     *
     * @throws IllegalStateException when this handle is released
     */
    public Tensor tensor() {
        retain(); // so that no other thread frees it in between
        try {
            return new Tensor(holder);
        } finally {
            release();
        }
    }

    /**
     * Adds one count, and returns this handle.
     *
     * @throws IllegalStateException when this handle is released
     */
    public NativeTensor retain() {
        if (count.getAndUpdate(held -> held == 0 ? 0 : held + 1) == 0) {
            throw released();
        }
        return this;
    }

    /**
     * Releases one count.
     *
     * @throws IllegalStateException if no count is left
     */
    public void release() {
        int held = count.getAndUpdate(before -> before == 0 ? 0 : before - 1);
        if (held == 0) {
            throw released();
        }
        if (held == 1) {
            LIVE.decrementAndGet();
            holder.releaseReference();
            CountedBytes.sweep();
        }
    }

    private static IllegalStateException released() {
        return new IllegalStateException("this native tensor is released");
    }
}
