package io.waybill.torch;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.bytedeco.pytorch.FunctionPostHook;
import org.bytedeco.pytorch.Node;

/**
 * Hooks of graph nodes that are written in Java, known by the address of their native side: JavaCPP calls an overridden
 * method from C++ only, and the engine of distributed autograd is written in Java.
 *
 * <p>Hooks of tensors ({@code register_hook}) need none of this.
 *
 * <p><b>Threads.</b> Any. A hook is called on the thread that computes its node.
 */
public final class NodeHooks {

    private static final Map<Long, FunctionPostHook> HOOKS = new ConcurrentHashMap<>();

    private NodeHooks() {}

    /** The stay of a hook at its node. */
    public interface Registration extends AutoCloseable {

        /** Removes the hook. A running call continues. Idempotent. */
        @Override
        void close();
    }

    /**
     * Adds a hook that both libtorch's engine and that of distributed autograd call after a node.
     *
     * <p><b>Lifetime.</b> The node, and so the graph behind it, stays until the registration is closed.
     *
     * @param node of an operator, or one that accumulates into a leaf
     * @param hook is passed the gradients that the node computed (none for the node of a leaf) and those that it was
     *     given; returns the former, or others in their place. It belongs to the node then
     */
    public static Registration after(Node node, FunctionPostHook hook) {
        long address = hook.address();
        Node kept = node.retainReference();
        hook.retainReference(); // the node frees it: no scope does,
        hook.deallocate(false); // and no garbage collector
        HOOKS.put(address, hook);
        long key = node.add_post_hook(hook);
        AtomicBoolean isOpen = new AtomicBoolean(true);
        return () -> {
            if (isOpen.getAndSet(false)) {
                HOOKS.remove(address);
                kept.del_post_hook(key);
                kept.releaseReference();
            }
        };
    }

    /** Returns the object to call for a hook of a node: the one in Java that was added here, or else the given one. */
    public static FunctionPostHook callable(FunctionPostHook ofNode) {
        FunctionPostHook found = HOOKS.get(ofNode.address());
        return found == null ? ofNode : found;
    }
}
