package io.waybill.autograd.graph;

import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Validation of roots, with PyTorch's texts, and their gradients, which are ones. */
final class Roots {

    private Roots() {}

    /**
     * Creates an entry of roots.
     *
     * @throws BackwardException if one can't be differentiated
     */
    static PassEntry entry(List<Tensor> roots) {
        if (roots.isEmpty()) {
            throw new BackwardException("No tensors provided for gradient computation.");
        }
        for (int i = 0; i < roots.size(); i++) {
            check(roots.get(i), i);
        }
        GradientEdges edges = new GradientEdges(roots.size());
        Tensor[] ones = new Tensor[roots.size()];
        for (int i = 0; i < ones.length; i++) {
            edges.set(i, roots.get(i));
            ones[i] = Pointers.own(torch.ones_like(roots.get(i)));
        }
        PassEntry entry = PassEntry.ofRoots(edges);
        entry.set(ones);
        return entry;
    }

    private static void check(Tensor root, int i) {
        if (!root.requires_grad()) {
            throw new BackwardException("requires_grad not set on root " + i);
        }
        if (root.numel() != 1) {
            throw new BackwardException("root " + i + " is not a scalar, all roots need to be scalar");
        }
        if (root.is_leaf()) {
            throw new BackwardException("root " + i + " does not have a valid gradient function.");
        }
    }
}
