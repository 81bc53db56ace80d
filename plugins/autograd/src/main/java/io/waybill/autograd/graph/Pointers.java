package io.waybill.autograd.graph;

import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/**
 * Ownership of JavaCPP's objects: each object that outlives a call has one reference here, so that a
 * {@code PointerScope} of the caller does not free it, and its owner frees it at a known time instead of the garbage
 * collector.
 */
final class Pointers {

    private Pointers() {}

    /** Returns a new object for the same tensor, which the caller frees with {@link #free}. */
    static Tensor keep(Tensor tensor) {
        return own(new Tensor(tensor));
    }

    /** Takes ownership of an object that a call of libtorch returned. */
    static <P extends Pointer> P own(P pointer) {
        return pointer.retainReference();
    }

    /** Frees an object; ignores null. */
    static void free(Pointer pointer) {
        if (pointer != null) {
            pointer.releaseReference();
        }
    }

    static void free(Pointer[] pointers) {
        for (Pointer pointer : pointers) {
            free(pointer);
        }
    }

    static boolean isNone(Pointer pointer) {
        return pointer == null || pointer.isNull();
    }

    /** Enables grad mode on this thread, unless it is enabled; the caller closes the result, which may be null. */
    static AutoGradMode gradMode() {
        return GradMode.is_enabled() ? null : own(new AutoGradMode(true));
    }

    /**
     * Returns the node that accumulates into this leaf, owned by the caller. It is the same while any graph or owner
     * holds it.
     */
    static Node accumulator(Tensor leaf) {
        AutoGradMode enabled = gradMode();
        try {
            Tensor user = own(leaf.is_sparse() ? leaf.neg() : leaf.alias());
            Node node = own(user.grad_fn());
            Node accumulator = own(node.next_edge(0).function());
            free(node);
            free(user);
            return accumulator;
        } finally {
            free(enabled);
        }
    }
}
