package io.waybill.autograd.graph;

import io.waybill.torch.OperatorEvents;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Runs the nodes of a pass as their gradients become complete. Around each node it works like libtorch's own engine:
 * hooks, the node, the check of its results and, unless the graph is retained, the release of its saved tensors. Nodes
 * of leaves are not run: their gradient goes to the context.
 *
 * <p><b>Threads.</b> One at a time, with grad mode off.
 */
final class NodeRunner {

    /** Max nodes of a thread with little time: about a third of a millisecond. */
    private static final int MAX_BRIEF_NODES = 64;
    /** Max elements of the gradients for a node on such a thread. */
    private static final long MAX_BRIEF_ELEMENTS = 16_384;

    private final PassMode mode;
    private final GraphUse use;
    private final Gradients gradients;
    private final PassListener listener;
    private final InputFit fit = new InputFit();
    private final Hooks.RetainedGradients retained = new Hooks.RetainedGradients();
    private final boolean isLink;
    private final PriorityQueue<GraphNode> ready = new PriorityQueue<>();
    private RecvId reached; // of a link; null before
    private List<Tensor> reachedGradients = List.of();
    private int left;
    private int leavesLeft;
    private int brief; // number of nodes until the rest is handed over; negative for any number

    /**
     * Creates a runner.
     *
     * @param graph the sealed graph of the pass
     * @param isLink whether the gradients of a received message are kept for {@link #reachedGradients}, and not
     *     reported
     */
    NodeRunner(
            PassMode mode, GraphUse use, Gradients gradients, PassListener listener, PassGraph graph, boolean isLink) {
        this.mode = mode;
        this.use = use;
        this.gradients = gradients;
        this.listener = listener;
        this.left = graph.size();
        this.leavesLeft = graph.leaves();
        this.isLink = isLink;
    }

    /** Sets whether the thread that runs nodes from now on has little time. */
    void brief(boolean isBrief) {
        brief = isBrief ? MAX_BRIEF_NODES : -1;
    }

    /** Returns whether the next node is too much for a thread that has little time. */
    boolean isTooMuch() {
        if (brief < 0) {
            return false;
        }
        GraphNode next = ready.peek();
        return next != null && (brief-- == 0 || next.slots.elements() > MAX_BRIEF_ELEMENTS);
    }

    /** Returns the number of nodes that did not run yet. */
    int left() {
        return left;
    }

    /** Passes the gradients of an entry on to its nodes. */
    void feed(PassEntry entry) {
        try {
            entry.requireAll();
            for (int i = 0; i < entry.targets.length; i++) {
                add(entry.targets[i], entry.edges.inputs[i], entry.numbers[i], entry.gradient(i), entry, i);
            }
        } finally {
            entry.freeGradients();
        }
    }

    /** Runs the next node whose gradients are complete; returns false if there is none. */
    boolean runNext() {
        GraphNode node = ready.poll();
        if (node == null) {
            return false;
        }
        if (node.kind == GraphNode.Kind.RECEIVE && isLink) {
            reach(node);
        } else if (node.kind == GraphNode.Kind.RECEIVE) {
            report(node);
        } else {
            run(node);
        }
        left--;
        return true;
    }

    @SuppressWarnings("try")
    private void run(GraphNode node) {
        TensorVector in = null;
        try (OperatorEvents.Observation observed = listener.observe()) {
            in = before(node);
            if (node.kind == GraphNode.Kind.COMPUTE) {
                compute(node, in);
            } else {
                accumulate(node, in);
            }
        } catch (BackwardException e) {
            throw e;
        } catch (RuntimeException | Error e) { // hooks are foreign code
            throw BackwardException.of(node.name(), e);
        } finally {
            Pointers.free(in);
        }
    }

    /** Returns the gradients of the inputs after the hooks that come before the node; the caller frees them. */
    private TensorVector before(GraphNode node) {
        return Hooks.before(node.node, node.slots.take(), retained);
    }

    private void accumulate(GraphNode node, TensorVector in) {
        leavesLeft--;
        Tensor gradient = in.get(0);
        if (gradient.defined()) {
            gradients.add(node.node, gradient);
        }
        Pointers.free(Hooks.after(node.node, null, in));
    }

    /** Reports the gradients of a received message. An exception of the listener is not the node's. */
    private void report(GraphNode node) {
        List<Tensor> complete = new ArrayList<>(node.inputs);
        try {
            collect(node, complete);
            if (isLast()) {
                listener.receivedLast(node.recv.id, complete);
            } else {
                listener.received(node.recv.id, complete);
            }
        } finally {
            complete.forEach(Pointers::free);
        }
    }

    /**
     * Returns whether all nodes except the running one are of leaves with complete gradients, so that none waits for
     * other workers.
     */
    private boolean isLast() {
        return left - 1 == leavesLeft && ready.size() == leavesLeft;
    }

    private void reach(GraphNode node) {
        reachedGradients = new ArrayList<>(node.inputs);
        collect(node, reachedGradients);
        reached = node.recv.id;
    }

    /** Returns the message that a link leads to; null before it is computed. */
    RecvId reached() {
        return reached;
    }

    /** Returns the gradients of that message, which this object owns. */
    List<Tensor> reachedGradients() {
        return reachedGradients;
    }

    void freeReached() {
        reachedGradients.forEach(Pointers::free);
        reachedGradients = List.of();
    }

    private void collect(GraphNode node, List<Tensor> complete) {
        TensorVector in = null;
        try {
            in = before(node);
            for (int i = 0; i < node.inputs; i++) {
                Tensor gradient = in.get(i);
                boolean isZero = mode == PassMode.FAST && !gradient.defined();
                complete.add(isZero ? Pointers.own(node.node.input_metadata(i).zeros_like()) : Pointers.keep(gradient));
            }
        } catch (RuntimeException | Error e) { // hooks are foreign code
            throw BackwardException.of(node.name(), e);
        } finally {
            Pointers.free(in);
        }
    }

    private void compute(GraphNode from, TensorVector in) {
        TensorVector out = Hooks.after(from.node, apply(from.node, in), in);
        try {
            if (use == GraphUse.RELEASE) {
                from.node.release_variables();
            }
            pass(from, out);
        } finally {
            Pointers.free(out);
        }
    }

    private static TensorVector apply(Node node, TensorVector in) {
        if (!Hooks.isAfter(node)) {
            return Pointers.own(node.apply(in));
        }
        TensorVector copy = Pointers.own(new TensorVector(in.get())); // the node consumes its inputs
        try {
            return Pointers.own(node.apply(copy));
        } finally {
            Pointers.free(copy);
        }
    }

    /** Passes the results of a node on along its edges. */
    private void pass(GraphNode from, TensorVector out) {
        if (out.size() != from.targets.length) {
            throw new GradientMismatchException(String.format(
                    Locale.ROOT,
                    "%s returned a wrong number of gradients: expected %d, found %d",
                    from.name(),
                    from.targets.length,
                    out.size()));
        }
        for (int i = 0; i < from.targets.length; i++) {
            if (from.targets[i] != null) {
                Tensor gradient = out.get(i);
                add(
                        from.targets[i],
                        from.targetInputs[i],
                        from.numbers[i],
                        gradient.defined() ? gradient : null,
                        from,
                        i);
            }
        }
    }

    /**
     * Adds a contribution in the form that the input needs.
     *
     * @param gradient gradient, which the caller owns; null if undefined
     */
    private void add(GraphNode target, int input, int number, Tensor gradient, Object source, int edge) {
        Tensor fitting = gradient == null ? null : fit.of(gradient, target, input, source, edge);
        target.slots.add(input, number, fitting);
        if (fitting != gradient) {
            Pointers.free(fitting);
        }
        if (--target.pending == 0) {
            ready.add(target);
        }
    }
}
