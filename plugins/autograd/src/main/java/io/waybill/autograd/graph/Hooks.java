package io.waybill.autograd.graph;

import org.bytedeco.pytorch.FunctionPostHookVector;
import org.bytedeco.pytorch.FunctionPreHookVector;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.TensorVector;

/**
 * The hooks of a node, in the order of libtorch's engine: those of the tensors that it computed, those before it, and those after it.
 *
 * <p>A hook of a node that is written in Java can't be called from here; libtorch says so. Hooks of tensors can.
 */
final class Hooks {

    private Hooks() {}

    /** Returns the gradients of the inputs after the hooks before the node. Takes {@code in} over, and gives the result to the caller. */
    static TensorVector before(Node node, TensorVector in) {
        return run(node.pre_hooks(), run(node.tensor_pre_hooks(), in));
    }

    private static TensorVector run(FunctionPreHookVector hooks, TensorVector in) {
        TensorVector result = in;
        try {
            for (long i = 0, size = hooks.size(); i < size; i++) {
                TensorVector next = Pointers.own(hooks.get(i).apply(result));
                Pointers.free(result);
                result = next;
            }
            return result;
        } catch (RuntimeException e) {
            Pointers.free(result);
            throw e;
        }
    }

    /** Returns whether there are hooks after the node. */
    static boolean isAfter(Node node) {
        return node.post_hooks().size() > 0;
    }

    /**
     * Returns the results of a node after the hooks for them. Takes {@code out} over, and gives the result to the caller.
     *
     * @param out null for the node of a leaf, which has no results
     */
    static TensorVector after(Node node, TensorVector out, TensorVector in) {
        FunctionPostHookVector hooks = node.post_hooks();
        long size = hooks.size();
        TensorVector result = size > 0 && out == null ? Pointers.own(new TensorVector()) : out;
        try {
            for (long i = 0; i < size; i++) {
                TensorVector next = Pointers.own(hooks.get(i).apply(result, in));
                Pointers.free(result);
                result = next;
            }
            return result;
        } catch (RuntimeException e) {
            Pointers.free(result);
            throw e;
        }
    }
}
