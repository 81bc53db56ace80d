package io.waybill.autograd.graph;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import org.bytedeco.pytorch.Edge;
import org.bytedeco.pytorch.EdgeVector;
import org.bytedeco.pytorch.Node;

/**
 * Graph of the nodes of a pass on this worker: those reachable from its entries.
 *
 * <p>{@link #seal} orders them and numbers the contributions to each input. Both depend only on the graph and the ids
 * of the messages, so sums have the same bits in each run.
 *
 * <p><b>Threads.</b> Under the lock of the pass until sealed; then read by the thread that runs the pass.
 */
final class PassGraph {

    /** libtorch's sequence number of a leaf's node, which makes it run first. */
    private static final long OF_LEAF = -1;

    private final NativeLayout layout = new NativeLayout();
    private final LongFunction<RecvFunction> recvs;
    private final Map<Long, GraphNode> nodes = new HashMap<>();
    private final List<PassEntry> entries = new ArrayList<>();
    private final Deque<GraphNode> unvisited = new ArrayDeque<>();
    private List<RecvId> reached;
    private int leaves;
    private int recvCount;

    /**
     * Creates a graph without entries.
     *
     * @param recvs the receive functions of the context by the address of their node; null for another node
     */
    PassGraph(LongFunction<RecvFunction> recvs) {
        this.recvs = recvs;
    }

    int size() {
        return nodes.size();
    }

    /** Returns the number of nodes of leaves. */
    int leaves() {
        return leaves;
    }

    /** Returns whether all entries lead to one received message and nowhere else. */
    boolean isLink() {
        return recvCount == 1 && leaves == 0 && entries.size() == 1;
    }

    /**
     * Adds an entry and all nodes that are reachable from it.
     *
     * @return the received messages that no earlier entry reached
     */
    List<RecvId> enter(PassEntry entry) {
        entries.add(entry);
        reached = new ArrayList<>();
        for (int i = 0; i < entry.targets.length; i++) {
            entry.targets[i] = visit(Pointers.own(entry.edges.nodes[i]), null);
        }
        for (GraphNode node = unvisited.poll(); node != null; node = unvisited.poll()) {
            follow(node);
        }
        return reached;
    }

    private void follow(GraphNode from) {
        EdgeVector edges = from.node.next_edges();
        for (int i = 0; i < from.targets.length; i++) {
            Edge edge = edges.get(i);
            if (edge.is_valid()) {
                from.targets[i] = visit(layout.node(edge), edge);
                from.targetInputs[i] = edge.input_nr();
            }
        }
    }

    /**
     * Takes ownership of libtorch's node, and returns its node here.
     *
     * @param edge edge that leads to it; null if the node is counted
     */
    private GraphNode visit(Node node, Edge edge) {
        GraphNode known = nodes.get(node.address());
        if (known != null) {
            Pointers.free(node);
            return known;
        }
        GraphNode created = create(node, edge);
        nodes.put(node.address(), created);
        switch (created.kind) {
            case COMPUTE -> unvisited.add(created);
            case ACCUMULATE -> leaves++;
            case RECEIVE -> {
                recvCount++;
                reached.add(created.recv.id);
            }
        }
        return created;
    }

    private GraphNode create(Node node, Edge edge) {
        RecvFunction recv = recvs.apply(node.address());
        if (recv != null) {
            return new GraphNode(node, GraphNode.Kind.RECEIVE, recv, recv.size, 0);
        }
        int edges = node.num_outputs();
        if (edges == 0 && node.sequence_nr() == OF_LEAF) {
            requireOwn(node);
            return new GraphNode(edge == null ? node : counted(node, edge), GraphNode.Kind.ACCUMULATE, null, 1, 0);
        }
        return new GraphNode(node, GraphNode.Kind.COMPUTE, null, node.num_inputs(), edges);
    }

    /** Returns a counted node of a leaf, because it outlives the pass, with its gradient. */
    private static Node counted(Node node, Edge edge) {
        Pointers.free(node);
        return Pointers.own(edge.function());
    }

    private static void requireOwn(Node node) {
        if (RecvFunction.isSourceOfHosts(node.address())) {
            Pointers.free(node);
            throw new BackwardException(
                    "a tensor that was received in another context takes part in this one: detach it before it is used");
        }
    }

    /** Orders the nodes, numbers the contributions to their inputs, and counts them. */
    void seal() {
        Collections.sort(entries);
        List<GraphNode> order = ordered();
        for (GraphNode node : order) {
            node.order = order.size() - 1 - node.order;
        }
        for (PassEntry entry : entries) {
            number(entry.targets, entry.edges.inputs, entry.numbers);
        }
        for (int i = order.size() - 1; i >= 0; i--) {
            GraphNode node = order.get(i);
            number(node.targets, node.targetInputs, node.numbers);
        }
        for (GraphNode node : order) {
            node.slots.seal(node.inputs);
        }
    }

    private static void number(GraphNode[] targets, int[] inputs, int[] numbers) {
        for (int i = 0; i < targets.length; i++) {
            if (targets[i] != null) {
                numbers[i] = targets[i].slots.expect(inputs[i]);
                targets[i].pending++;
            }
        }
    }

    /**
     * Returns the nodes in the order in which a depth-first search leaves them, so that each follows all nodes that
     * receive its gradients.
     */
    private List<GraphNode> ordered() {
        List<GraphNode> left = new ArrayList<>(nodes.size());
        Deque<GraphNode> path = new ArrayDeque<>();
        for (PassEntry entry : entries) {
            for (GraphNode target : entry.targets) {
                open(target, path);
                while (!path.isEmpty()) {
                    advance(path, left);
                }
            }
        }
        return left;
    }

    private static void advance(Deque<GraphNode> path, List<GraphNode> left) {
        GraphNode node = path.peek();
        if (node.next < node.targets.length) {
            open(node.targets[node.next++], path);
        } else {
            node.order = left.size();
            left.add(path.pop());
        }
    }

    private static void open(GraphNode node, Deque<GraphNode> path) {
        if (node != null && node.order == GraphNode.UNORDERED) {
            node.order = GraphNode.OPEN;
            path.push(node);
        }
    }

    /** Returns the entry of this message; null if it takes no part. */
    PassEntry entry(long messageId) {
        for (PassEntry entry : entries) {
            if (!entry.isRoots && entry.messageId == messageId) {
                return entry;
            }
        }
        return null;
    }

    void free() {
        entries.forEach(PassEntry::free);
        nodes.values().forEach(GraphNode::free);
        entries.clear();
        nodes.clear();
    }
}
