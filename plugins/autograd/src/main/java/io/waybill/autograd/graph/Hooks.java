package io.waybill.autograd.graph;

import io.waybill.torch.NodeHooks;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.FunctionPostHookVector;
import org.bytedeco.pytorch.FunctionPreHook;
import org.bytedeco.pytorch.FunctionPreHookVector;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The hooks of a node, in the order of libtorch's engine: hooks of the tensors that it computed, pre-hooks, and
 * post-hooks.
 *
 * <p>A hook of a node that is written in Java can be called from here if it was added by {@link NodeHooks}; otherwise
 * libtorch fails. Hooks of tensors can.
 */
final class Hooks {

    private Hooks() {}

    /**
     * Returns the gradients of the inputs after the hooks before the node. Takes ownership of {@code in}; the caller
     * owns the result.
     */
    static TensorVector before(Node node, TensorVector in, RetainedGradients retained) {
        return run(node.pre_hooks(), retained.keep(node, run(node.tensor_pre_hooks(), in)));
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
        } catch (RuntimeException | Error e) {
            Pointers.free(result);
            throw e;
        }
    }

    /** Returns whether there are hooks after the node. */
    static boolean isAfter(Node node) {
        return node.post_hooks().size() > 0;
    }

    /**
     * Returns the results of a node after the hooks for them. Takes ownership of {@code out}; the caller owns the
     * result.
     *
     * @param out null for the node of a leaf, which has no results
     */
    static TensorVector after(Node node, TensorVector out, TensorVector in) {
        FunctionPostHookVector hooks = node.post_hooks();
        long size = hooks.size();
        TensorVector result = size > 0 && out == null ? Pointers.own(new TensorVector()) : out;
        try {
            for (long i = 0; i < size; i++) {
                TensorVector next = NodeHooks.callable(hooks.get(i)).apply(result, in);
                if (next == null) {
                    throw new IllegalStateException(
                            "a hook after " + node.name().getString() + " returned null");
                }
                Pointers.own(next);
                Pointers.free(result);
                result = next;
            }
            return result;
        } catch (RuntimeException | Error e) {
            Pointers.free(result);
            throw e;
        }
    }

    /**
     * Runs the hooks that {@code retain_grad} of a tensor puts on the node that computed it: they add the gradient to
     * the tensor's {@code .grad}.
     *
     * <p>libtorch does not list these hooks, but they can be removed from a node and added again. The node's field with
     * their number shows whether there are any, so a node without hooks costs one read. The field is found by adding a
     * hook.
     *
     * <p><b>Threads.</b> The one that runs a pass; only one pass at a time removes hooks. Passes of libtorch's own
     * engine over the same node at the same time are not allowed, as with two of its own: the tensor has one
     * {@code .grad}. <b>Lifetime.</b> libtorch is loaded before this class is.
     */
    static final class RetainedGradients {

        /** Number of a node's bytes that are searched; its inputs' metadata, which come last, are larger. */
        private static final int SEARCHED_BYTES = 320;

        private static final int NONE = -1;
        /** The position of the number of hooks in a node. */
        static final int POSITION = find();

        private static final Object TAKING = new Object();

        private final NativeLayout.Word word = new NativeLayout.Word();

        /** Runs the hooks of a node. Takes ownership of {@code in}; the caller owns the result. */
        TensorVector keep(Node node, TensorVector in) {
            if (POSITION == NONE || word.at(node.address() + POSITION) == 0) {
                return in;
            }
            TensorVector result = in;
            synchronized (TAKING) {
                for (int i = 0, inputs = node.num_inputs(); i < inputs; i++) {
                    FunctionPreHook hook = node.pop_retains_grad_hook(i);
                    if (!Pointers.isNone(hook)) {
                        result = run(Pointers.own(hook), result, node, i);
                    }
                }
            }
            return result;
        }

        private static TensorVector run(FunctionPreHook hook, TensorVector in, Node node, int input) {
            try {
                return Pointers.own(hook.apply(in));
            } finally {
                Pointers.free(in);
                node.add_retains_grad_hook(hook, input);
                Pointers.free(hook); // frees the rest: the node owns the hook
            }
        }

        /** Finds the only word of a node that is 0 before its tensor retains its gradient, and 1 after. */
        private static int find() {
            AutoGradMode enabled = Pointers.gradMode();
            Tensor leaf = Pointers.own(torch.zeros(1));
            leaf.set_requires_grad(true);
            Tensor product = Pointers.own(leaf.mul(new Scalar(2)));
            Node node = Pointers.own(product.grad_fn());
            try {
                long[] before = words(node);
                product.retain_grad();
                long[] after = words(node);
                int found = NONE;
                for (int i = 0; i < before.length; i++) {
                    if (before[i] == 0 && after[i] == 1) {
                        found = found == NONE ? i * Long.BYTES : Integer.MAX_VALUE;
                    }
                }
                return found == Integer.MAX_VALUE ? NONE : found;
            } finally {
                Pointers.free(node);
                Pointers.free(product);
                Pointers.free(leaf);
                Pointers.free(enabled);
            }
        }

        private static long[] words(Node node) {
            NativeLayout.Word word = new NativeLayout.Word();
            long[] words = new long[SEARCHED_BYTES / Long.BYTES];
            for (int i = 0; i < words.length; i++) {
                words[i] = word.at(node.address() + i * Long.BYTES);
            }
            return words;
        }
    }
}
