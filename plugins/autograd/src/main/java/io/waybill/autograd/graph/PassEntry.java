package io.waybill.autograd.graph;

import java.util.List;
import java.util.Locale;
import org.bytedeco.pytorch.Tensor;

/**
 * Entry of gradients into a pass: a send function, or the roots. Its edges belong to the send function or to the roots.
 *
 * <p><b>Threads.</b> Under the lock of the pass until it is fed; then the thread that runs the pass.
 */
final class PassEntry implements Comparable<PassEntry> {

    final boolean isRoots;
    final long messageId;
    final GradientEdges edges;
    final GraphNode[] targets;
    final int[] numbers;
    boolean isFed;
    private Tensor[] gradients; // null if there are none
    private boolean isOwner; // whether this object owns the gradients

    private PassEntry(boolean isRoots, long messageId, GradientEdges edges) {
        this.isRoots = isRoots;
        this.messageId = messageId;
        this.edges = edges;
        this.targets = new GraphNode[edges.nodes.length];
        this.numbers = new int[edges.nodes.length];
    }

    static PassEntry ofRoots(GradientEdges edges) {
        return new PassEntry(true, 0, edges);
    }

    static PassEntry of(long messageId, GradientEdges edges) {
        return new PassEntry(false, messageId, edges);
    }

    /**
     * Creates new objects of the gradients, for a thread that reads them later; undefined ones are null.
     *
     * @param from gradients, which the caller owns
     */
    void feedLater(List<Tensor> from) {
        keep(from);
        isFed = true;
    }

    /** Keeps new objects of the gradients, like {@link #feedLater}, without feeding them. */
    void keep(List<Tensor> from) {
        Tensor[] copies = new Tensor[from.size()];
        for (int i = 0; i < copies.length; i++) {
            Tensor gradient = from.get(i);
            copies[i] = gradient.defined() ? withoutGraph(gradient) : null;
        }
        gradients = copies;
        isOwner = true;
    }

    private static Tensor withoutGraph(Tensor gradient) {
        return gradient.requires_grad() ? Pointers.own(gradient.detach()) : Pointers.keep(gradient);
    }

    /** Uses the caller's gradients, which stay valid until the calling thread has passed them on. */
    void feedNow(List<Tensor> from) {
        Tensor[] same = new Tensor[from.size()];
        for (int i = 0; i < same.length; i++) {
            Tensor gradient = from.get(i);
            if (gradient.defined() && gradient.requires_grad()) {
                feedLater(from);
                return;
            }
            same[i] = gradient.defined() ? gradient : null;
        }
        gradients = same;
        isFed = true;
    }

    /** Sets the gradients of roots, and takes ownership. */
    void set(Tensor[] ones) {
        gradients = ones;
        isOwner = true;
    }

    /**
     * Checks the number of gradients.
     *
     * @throws GradientMismatchException if it is not that of the tensors
     */
    void requireAll() {
        if (gradients.length != targets.length) {
            throw new GradientMismatchException(String.format(
                    Locale.ROOT,
                    "%s has a wrong number of gradients: expected %d, found %d",
                    this,
                    targets.length,
                    gradients.length));
        }
    }

    /** Returns a gradient, which this object owns; null if undefined. */
    Tensor gradient(int i) {
        return gradients[i];
    }

    /** Frees the gradients after they were passed on. */
    void freeGradients() {
        if (isOwner) {
            Pointers.free(gradients);
        }
        gradients = null;
        isOwner = false;
    }

    void free() {
        freeGradients();
        if (isRoots) {
            edges.free();
        }
    }

    /** Orders roots first, then messages by their id, which is part of the order of sums. */
    @Override
    public int compareTo(PassEntry other) {
        return isRoots != other.isRoots
                ? Boolean.compare(other.isRoots, isRoots)
                : Long.compareUnsigned(messageId, other.messageId);
    }

    @Override
    public String toString() {
        return isRoots ? "the roots" : "message " + messageId;
    }
}
