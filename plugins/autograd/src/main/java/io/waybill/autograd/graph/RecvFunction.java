package io.waybill.autograd.graph;

import java.util.Iterator;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The tensors of one received message: a node of the graph at which backward passes end here, because the rest of the
 * graph is at the sender.
 *
 * <p>A Java class can't be a node of libtorch. This class therefore uses a host node, of an operator that ran only for
 * this purpose, and attaches the tensors to it as if they were its results. The node is recognised by its address and
 * never applied.
 *
 * <p><b>Threads.</b> Immutable.
 */
final class RecvFunction {

    /**
     * Leaf from which host nodes are computed, loaded after libtorch. It is empty, so that libtorch's own engine fails
     * at a host node: no gradient has this shape.
     */
    private static final class Source {

        static final Tensor LEAF = Pointers.own(torch.zeros(0));
        static final Node ACCUMULATOR;

        static {
            LEAF.set_requires_grad(true);
            ACCUMULATOR = Pointers.accumulator(LEAF);
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

    /** Attaches the tensors to a new node, with inputs numbered from 0. */
    static RecvFunction hang(RecvId id, List<Tensor> tensors) {
        Node node = makeHost();
        node.clear_input_metadata();
        for (Tensor tensor : tensors) {
            torch.create_gradient_edge(tensor, node);
        }
        return new RecvFunction(id, tensors.size(), node);
    }

    private static Node makeHost() {
        AutoGradMode enabled = Pointers.gradMode();
        try {
            Tensor result = Pointers.own(Source.LEAF.alias());
            Node node = Pointers.own(result.grad_fn());
            Pointers.free(result);
            return node;
        } finally {
            Pointers.free(enabled);
        }
    }

    /** Returns whether a node with an edge to this one is a host node, of this context or another one. */
    static boolean isSourceOfHosts(long address) {
        return Source.ACCUMULATOR.address() == address;
    }

    void archive(GraphArchive.Writer writer) {
        writer.recv(id, size, node);
    }

    /** @param fields the message id, the sender and the number of tensors */
    static RecvFunction restored(List<Long> fields, Iterator<Pointer> natives) {
        RecvId id = new RecvId(fields.get(0), fields.get(1).intValue());
        return new RecvFunction(id, fields.get(2).intValue(), (Node) natives.next());
    }

    void close() {
        Pointers.free(node);
    }
}
