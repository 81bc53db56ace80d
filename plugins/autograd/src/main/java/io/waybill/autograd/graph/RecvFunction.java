package io.waybill.autograd.graph;

import java.util.List;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The tensors of one received message: a node of the graph at which backward passes end here, because the rest of the graph is at the sender.
 *
 * <p>libtorch lets no Java class be a node. So this borrows one, of an operator that ran for this purpose only, and hangs the tensors on it as if they were
 * its results. It is recognised by its address and never applied.
 *
 * <p><b>Threads.</b> Immutable.
 */
final class RecvFunction {

    /**
     * The leaf that borrowed nodes are computed from, loaded once libtorch is. It is empty, so that libtorch's own engine fails at a borrowed node: no gradient
     * has this shape.
     */
    private static final class Source {

        static final Tensor LEAF = Handles.own(torch.zeros(0));
        static final Node ACCUMULATOR;

        static {
            LEAF.set_requires_grad(true);
            ACCUMULATOR = Handles.accumulator(LEAF);
        }
    }

    final RecvId id;
    final int size;
    final Node node;

    private RecvFunction(RecvId id, int size, Node node) {
        this.id = id;
        this.size = size;
        this.node = node;
    }

    /** Hangs the tensors on a new node. Their inputs there are numbered from 0 on. */
    static RecvFunction hang(RecvId id, List<Tensor> tensors) {
        Node node = borrow();
        node.clear_input_metadata();
        for (Tensor tensor : tensors) {
            torch.create_gradient_edge(tensor, node);
        }
        return new RecvFunction(id, tensors.size(), node);
    }

    private static Node borrow() {
        AutoGradMode enabled = Handles.gradMode();
        try {
            Tensor result = Handles.own(Source.LEAF.alias());
            Node node = Handles.own(result.grad_fn());
            Handles.free(result);
            return node;
        } finally {
            Handles.free(enabled);
        }
    }

    /** Returns whether a node with an edge to this one was borrowed, by this context or another one. */
    static boolean isBorrowedFrom(long address) {
        return Source.ACCUMULATOR.address() == address;
    }

    void close() {
        Handles.free(node);
    }
}
