package io.waybill.autograd.graph;

import org.bytedeco.pytorch.Node;

/**
 * One of libtorch's nodes in a pass: its edges to the nodes that receive its gradients, and the gradients that have
 * arrived for it.
 *
 * <p><b>Threads.</b> Built under the lock of the pass, then used by the thread that runs it. <b>Ownership.</b> Owns
 * libtorch's node and the gradients.
 */
final class GraphNode implements Comparable<GraphNode> {

    /** Treatment of a node's gradients. */
    enum Kind {
        /** Computes the gradients for its edges. */
        COMPUTE,
        /** Keeps them in the context: the node of a leaf. */
        ACCUMULATE,
        /** Sends them to another worker. */
        RECEIVE
    }

    /** Order of a node that the ordering search has not reached, or not left. */
    static final int UNORDERED = -2;

    static final int OPEN = -1;

    final Node node;
    final Kind kind;
    final RecvFunction recv;
    final int inputs;
    final InputSlots slots = new InputSlots();

    /** Targets per edge; null if no gradient is needed. */
    final GraphNode[] targets;

    final int[] targetInputs;
    final int[] numbers;

    /** Position in an order in which each node precedes the nodes that receive its gradients. */
    int order = UNORDERED;
    /** Number of missing contributions. */
    int pending;
    /** Edge at which the ordering search continues. */
    int next;

    GraphNode(Node node, Kind kind, RecvFunction recv, int inputs, int edges) {
        this.node = node;
        this.kind = kind;
        this.recv = recv;
        this.inputs = inputs;
        this.targets = new GraphNode[edges];
        this.targetInputs = new int[edges];
        this.numbers = new int[edges];
    }

    @Override
    public int compareTo(GraphNode other) {
        return Integer.compare(order, other.order);
    }

    String name() {
        return switch (kind) {
            case COMPUTE -> node.name().getString();
            case ACCUMULATE -> "AccumulateGrad";
            case RECEIVE -> "the message " + recv.id.messageId();
        };
    }

    void free() {
        slots.free();
        Pointers.free(node);
    }
}
