package io.waybill.autograd.graph;

import java.util.Iterator;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/**
 * The tensors of one sent message, where their gradients enter the graph. It holds the graph of computed tensors, and
 * leaves themselves. Later operators in place on a sent tensor don't change it.
 *
 * <p><b>Threads.</b> {@link #edges} under the lock of the pass; otherwise immutable.
 */
final class SendFunction {

    final long messageId;
    private final GradientEdges edges;
    private final Tensor[] leaves;

    private SendFunction(long messageId, GradientEdges edges, Tensor[] leaves) {
        this.messageId = messageId;
        this.edges = edges;
        this.leaves = leaves;
    }

    static SendFunction of(long messageId, List<Tensor> tensors) {
        if (tensors.isEmpty()) {
            throw new IllegalArgumentException("message " + messageId + " has no tensors that require grad");
        }
        GradientEdges edges = new GradientEdges(tensors.size());
        Tensor[] leaves = new Tensor[tensors.size()];
        for (int i = 0; i < leaves.length; i++) {
            Tensor tensor = tensors.get(i);
            if (!tensor.requires_grad()) {
                edges.free();
                Pointers.free(leaves);
                throw new IllegalArgumentException("a send function is for tensors that require grad, and that at " + i
                        + " of message " + messageId + " does not");
            }
            if (!edges.set(i, tensor)) {
                leaves[i] = Pointers.keep(tensor);
            }
        }
        return new SendFunction(messageId, edges, leaves);
    }

    int size() {
        return leaves.length;
    }

    /** Returns the edges, including those to leaves, and lists the leaves. */
    GradientEdges edges(Gradients gradients) {
        for (int i = 0; i < leaves.length; i++) {
            if (leaves[i] != null && edges.nodes[i] == null) {
                Node accumulator = Pointers.accumulator(leaves[i]);
                edges.nodes[i] = accumulator;
                gradients.leaf(accumulator, leaves[i]);
            }
        }
        return edges;
    }

    void archive(GraphArchive.Writer writer) {
        writer.send(messageId, edges, leaves);
    }

    /** @param fields the message id, and the number of the input of each edge */
    static SendFunction restored(List<Long> fields, Iterator<Pointer> natives) {
        GradientEdges edges = new GradientEdges(fields.size() - 1);
        Tensor[] leaves = new Tensor[fields.size() - 1];
        for (int i = 0; i < leaves.length; i++) {
            edges.inputs[i] = fields.get(i + 1).intValue();
            edges.nodes[i] = (Node) natives.next();
            leaves[i] = (Tensor) natives.next();
        }
        return new SendFunction(fields.get(0), edges, leaves);
    }

    void close() {
        edges.free();
        Pointers.free(leaves);
    }
}
