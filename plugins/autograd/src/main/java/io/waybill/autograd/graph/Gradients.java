package io.waybill.autograd.graph;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/**
 * The gradients of a context, by the node that would have accumulated them into the leaf's {@code .grad}. The node has
 * the leaf's tensor; where it can't be read, a leaf is listed once its tensor is known otherwise.
 *
 * <p><b>Threads.</b> Any; a sum is computed under the lock.
 */
final class Gradients {

    /** A leaf. It holds the node, so that its address stays its identity. */
    private static final class Leaf {
        Node accumulator;
        Tensor tensor;
        Tensor gradient;
        boolean isOwn; // whether no other object holds the gradient's memory
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Long, Leaf> leaves = new LinkedHashMap<>(); // guarded by lock
    private boolean isClosed; // guarded by lock

    /** Registers the leaf of a node. The caller keeps ownership of both. */
    void leaf(Node accumulator, Tensor tensor) {
        lock.lock();
        try {
            if (isClosed) {
                throw ContextGraph.closed();
            }
            Leaf leaf = of(accumulator);
            if (leaf.tensor == null) {
                leaf.tensor = Pointers.keep(tensor);
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Adds a gradient, which the caller owns. Grad mode is off. Has no effect after {@link #close}, because a pass may
     * end later.
     */
    void add(Node accumulator, Tensor gradient) {
        lock.lock();
        try {
            if (isClosed) {
                return;
            }
            Leaf leaf = of(accumulator);
            Tensor before = leaf.gradient;
            leaf.gradient = before == null ? Pointers.keep(gradient) : InputSlots.sum(before, gradient);
            leaf.isOwn = before != null;
            Pointers.free(before);
        } finally {
            lock.unlock();
        }
    }

    private Leaf of(Node accumulator) {
        return leaves.computeIfAbsent(accumulator.address(), address -> {
            Leaf leaf = new Leaf();
            leaf.accumulator = Pointers.own(accumulator);
            return leaf;
        });
    }

    List<LeafGradient> list() {
        List<LeafGradient> list = new ArrayList<>();
        lock.lock();
        try {
            for (Leaf leaf : leaves.values()) {
                if (leaf.tensor == null && leaf.gradient != null) {
                    leaf.tensor = NativeLayout.leaf(leaf.accumulator);
                }
                if (leaf.tensor != null && leaf.gradient != null) {
                    list.add(new LeafGradient(new Tensor(leaf.tensor), own(leaf)));
                }
            }
            return list;
        } finally {
            lock.unlock();
        }
    }

    Optional<Tensor> find(Node accumulator) {
        lock.lock();
        try {
            Leaf leaf = leaves.get(accumulator.address());
            return leaf == null || leaf.gradient == null ? Optional.empty() : Optional.of(own(leaf));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns a new object of the gradient, which its holder may change in place: a shared gradient is copied when it
     * is first returned.
     */
    private static Tensor own(Leaf leaf) {
        if (!leaf.isOwn && isShared(leaf.gradient)) {
            Tensor shared = leaf.gradient;
            leaf.gradient = Pointers.own(shared.clone());
            Pointers.free(shared);
        }
        leaf.isOwn = true;
        return new Tensor(leaf.gradient);
    }

    /**
     * Returns whether other objects hold a gradient, or its elements overlap. Views of the parts of a sparse gradient
     * don't count, because they can't be distinguished from its own.
     */
    private static boolean isShared(Tensor gradient) {
        return gradient.use_count() > 1
                || !gradient.is_sparse()
                        && (!gradient.is_non_overlapping_and_dense()
                                || gradient.storage().use_count() > 1);
    }

    int size() {
        lock.lock();
        try {
            return (int) leaves.values().stream()
                    .filter(leaf -> leaf.gradient != null)
                    .count();
        } finally {
            lock.unlock();
        }
    }

    /** Transfers all leaves, and closes this object. */
    void archive(GraphArchive.Writer writer) {
        lock.lock();
        try {
            isClosed = true;
            leaves.values().forEach(leaf -> writer.leaf(leaf.accumulator, leaf.tensor, leaf.gradient));
            leaves.clear();
        } finally {
            lock.unlock();
        }
    }

    void restore(Iterator<Pointer> natives) {
        lock.lock();
        try {
            Leaf leaf = new Leaf();
            leaf.accumulator = (Node) natives.next();
            leaf.tensor = (Tensor) natives.next();
            leaf.gradient = (Tensor) natives.next();
            leaves.put(leaf.accumulator.address(), leaf);
        } finally {
            lock.unlock();
        }
    }

    void close() {
        lock.lock();
        try {
            isClosed = true;
            for (Leaf leaf : leaves.values()) {
                Pointers.free(leaf.accumulator);
                Pointers.free(leaf.tensor);
                Pointers.free(leaf.gradient);
            }
            leaves.clear();
        } finally {
            lock.unlock();
        }
    }
}
