package io.waybill.autograd.graph;

import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/**
 * Edges into libtorch's graph: the nodes that receive the gradients of some tensors, and the number of the input there.
 * Owns its nodes.
 */
final class GradientEdges {

    final Node[] nodes;
    final int[] inputs;

    GradientEdges(int size) {
        this.nodes = new Node[size];
        this.inputs = new int[size];
    }

    /** Sets the edge of a tensor that was computed; returns false for a leaf, whose edge is not set. */
    boolean set(int i, Tensor tensor) {
        Node node = tensor.grad_fn();
        if (Pointers.isNone(node)) {
            return false;
        }
        nodes[i] = Pointers.own(node);
        inputs[i] = (int) tensor.output_nr();
        return true;
    }

    void free() {
        Pointers.free(nodes);
    }
}
