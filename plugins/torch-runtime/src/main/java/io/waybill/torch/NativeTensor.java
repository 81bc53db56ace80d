package io.waybill.torch;

import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * A counted handle of a live libtorch tensor, with the autograd graph that computed it. Bundles pass it to one another instead of libtorch's
 * objects, because a handle that is used too late throws, where libtorch's object would end the process.
 *
 * <p><b>Ownership.</b> Who makes a handle holds one count of it. The last {@link #release()} gives up libtorch's tensor, and with it the
 * graph, unless libtorch itself or another handle uses them. <b>Lifetime.</b> Bundles may hold it across updates of each other, and release
 * it after the framework has stopped: libtorch stays loaded until the process ends. <b>Threads.</b> Any.
 */
public final class NativeTensor {

    /** Handles of this process that are not released. */
    private static final AtomicInteger LIVE = new AtomicInteger();

    private final Tensor holder;
    private final AtomicInteger count = new AtomicInteger(1);

    private NativeTensor(Tensor holder) {
        this.holder = holder;
    }

    /** Makes a handle of this tensor, with one count. */
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

    /** Makes a handle that takes over this object of the caller's {@code PointerScope}, with one count. */
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
     * Returns libtorch's tensor: a new object for the same tensor, which the caller's {@code PointerScope} frees, or else the garbage collector.
     * It stays valid when this handle is released.
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
     * Takes one more count, and returns this.
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
     * @throws IllegalStateException when none is left
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
