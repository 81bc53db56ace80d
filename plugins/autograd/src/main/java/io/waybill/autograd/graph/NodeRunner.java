package io.waybill.autograd.graph;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import org.bytedeco.pytorch.FunctionPostHookVector;
import org.bytedeco.pytorch.FunctionPreHookVector;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Runs the nodes of a pass as their gradients become complete: what libtorch's own engine does around each of them, which is its hooks, the node, the check of
 * its results and, unless the graph is retained, the release of what it saved. Nodes of leaves are not run: their gradient goes to the context.
 *
 * <p><b>Threads.</b> One at a time, with grad mode off.
 */
final class NodeRunner {

    private final PassMode mode;
    private final GraphUse use;
    private final Gradients gradients;
    private final PassListener listener;
    private final PriorityQueue<GraphNode> ready = new PriorityQueue<>();
    private int left;

    /**
     * Creates a runner.
     *
     * @param left how many nodes the pass has
     */
    NodeRunner(PassMode mode, GraphUse use, Gradients gradients, PassListener listener, int left) {
        this.mode = mode;
        this.use = use;
        this.gradients = gradients;
        this.listener = listener;
        this.left = left;
    }

    /** Returns how many nodes are to be run. */
    int left() {
        return left;
    }

    /** Passes the gradients of an entry on to its nodes. */
    void feed(PassEntry entry) {
        for (int i = 0; i < entry.targets.length; i++) {
            GraphNode target = entry.targets[i];
            Tensor gradient = entry.take(i);
            add(
                    target,
                    entry.edges.inputs[i],
                    entry.numbers[i],
                    fit(gradient, target, entry.edges.inputs[i], entry, i));
            Handles.free(gradient);
        }
    }

    /** Runs the next node whose gradients are complete; returns false when there is none. */
    boolean runNext() {
        GraphNode node = ready.poll();
        if (node == null) {
            return false;
        }
        try {
            run(node);
        } catch (BackwardException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new BackwardException(node.name() + " failed: " + BackwardException.text(e), e);
        }
        left--;
        return true;
    }

    private void run(GraphNode node) {
        TensorVector in = before(node);
        switch (node.kind) {
            case COMPUTE -> compute(node, in);
            case ACCUMULATE -> accumulate(node, in);
            case RECEIVE -> receive(node, in);
        }
    }

    /** Returns the gradients of the inputs after the hooks that come before the node; the caller frees them. */
    private static TensorVector before(GraphNode node) {
        TensorVector in = Handles.own(new TensorVector(node.inputs));
        for (int i = 0; i < node.inputs; i++) {
            Tensor sum = node.slots.take(i);
            if (sum != null) {
                in.put(i, sum);
                Handles.free(sum);
            }
        }
        return hooked(node.node.pre_hooks(), hooked(node.node.tensor_pre_hooks(), in));
    }

    private static TensorVector hooked(FunctionPreHookVector hooks, TensorVector in) {
        TensorVector result = in;
        for (long i = 0, size = hooks.size(); i < size; i++) {
            TensorVector next = Handles.own(hooks.get(i).apply(result));
            Handles.free(result);
            result = next;
        }
        return result;
    }

    private void accumulate(GraphNode node, TensorVector in) {
        Tensor gradient = in.get(0);
        if (gradient.defined()) {
            gradients.add(node.node, gradient);
        }
        FunctionPostHookVector hooks = node.node.post_hooks();
        if (hooks.size() > 0) {
            Handles.free(hooked(hooks, Handles.own(new TensorVector()), in));
        }
        Handles.free(in);
    }

    private static TensorVector hooked(FunctionPostHookVector hooks, TensorVector out, TensorVector in) {
        TensorVector result = out;
        for (long i = 0, size = hooks.size(); i < size; i++) {
            TensorVector next = Handles.own(hooks.get(i).apply(result, in));
            Handles.free(result);
            result = next;
        }
        return result;
    }

    private void receive(GraphNode node, TensorVector in) {
        List<Tensor> complete = new ArrayList<>(node.inputs);
        for (int i = 0; i < node.inputs; i++) {
            Tensor gradient = in.get(i);
            boolean isZero = mode == PassMode.FAST && !gradient.defined();
            complete.add(isZero ? Handles.own(node.node.input_metadata(i).zeros_like()) : Handles.keep(gradient));
        }
        Handles.free(in);
        try {
            listener.received(node.recv.id, complete);
        } finally {
            complete.forEach(Handles::free);
        }
    }

    private void compute(GraphNode from, TensorVector in) {
        TensorVector out = after(from.node, in);
        if (use == GraphUse.RELEASE) {
            from.node.release_variables();
        }
        if (out.size() != from.targets.length) {
            throw new GradientMismatchException("%s returned a wrong number of gradients: expected %d, found %d"
                    .formatted(from.name(), from.targets.length, out.size()));
        }
        for (int i = 0; i < from.targets.length; i++) {
            GraphNode target = from.targets[i];
            if (target != null) {
                Tensor gradient = out.get(i);
                Tensor fitting = fit(gradient.defined() ? gradient : null, target, from.targetInputs[i], from, i);
                add(target, from.targetInputs[i], from.numbers[i], fitting);
            }
        }
        Handles.free(out);
    }

    /** Applies the node and the hooks that come after it; frees its inputs. */
    private static TensorVector after(Node node, TensorVector in) {
        FunctionPostHookVector hooks = node.post_hooks();
        if (hooks.size() == 0) {
            TensorVector out = Handles.own(node.apply(in));
            Handles.free(in);
            return out;
        }
        TensorVector copy = Handles.own(new TensorVector(in.get())); // the node takes its inputs away
        TensorVector out = hooked(hooks, Handles.own(node.apply(copy)), in);
        Handles.free(copy);
        Handles.free(in);
        return out;
    }

    /** Adds a contribution, which is taken over. */
    private void add(GraphNode target, int input, int number, Tensor gradient) {
        target.slots.add(input, number, gradient);
        if (--target.pending == 0) {
            ready.add(target);
        }
    }

    /**
     * Returns a gradient in the form that the input needs: summed over what was broadcast, and with its element type.
     *
     * @param gradient null when undefined; stays the caller's
     * @return a new object; null when undefined
     */
    private static Tensor fit(Tensor gradient, GraphNode target, int input, Object source, int number) {
        return gradient == null ? null : InputFit.fit(gradient, target, input, () -> describe(source, number));
    }

    private static String describe(Object source, int number) {
        String name = source instanceof GraphNode node ? node.name() : source.toString();
        return "gradient " + number + " of " + name;
    }
}
