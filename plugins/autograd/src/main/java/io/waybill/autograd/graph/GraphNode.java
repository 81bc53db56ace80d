package io.waybill.autograd.graph;

import org.bytedeco.pytorch.Node;

/**
 * One of libtorch's nodes in a pass: its edges to the nodes that its gradients go to, and the gradients that have arrived for it.
 *
 * <p><b>Threads.</b> Built under the lock of the pass, then used by the thread that runs it. <b>Ownership.</b> Of libtorch's node and the gradients.
 */
final class GraphNode implements Comparable<GraphNode> {

    /** What a node does with its gradients. */
    enum Kind {
        /** Computes those for its edges. */
        COMPUTE,
        /** Keeps them in the context: the node of a leaf. */
        ACCUMULATE,
        /** Sends them to another worker. */
        RECEIVE
    }

    /** Of a node that the search that orders them has not reached, and of one that it has not left. */
    static final int UNORDERED = -2;

    static final int OPEN = -1;

    final Node node;
    final Kind kind;
    final RecvFunction recv;
    final int inputs;
    final InputSlots slots = new InputSlots();

    /** Per edge; a target is null where no gradient is needed. */
    final GraphNode[] targets;

    final int[] targetInputs;
    final int[] numbers;

    /** Place in an order in which each node comes before those that its gradients go to. */
    int order = UNORDERED;
    /** Contributions that this still waits for. */
    int pending;
    /** The edge at which the search that orders the nodes continues. */
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
