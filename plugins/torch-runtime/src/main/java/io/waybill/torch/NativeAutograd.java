package io.waybill.torch;

import io.waybill.api.CallException;
import io.waybill.api.tensor.Tensor;
import java.util.List;
import java.util.function.BiConsumer;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Backward passes in the contexts of distributed autograd, for functions of scripts: a service of autograd.
 *
 * <p><b>Threads.</b> Any. <b>Errors.</b> {@link IllegalArgumentException} with PyTorch's text for a missing context and
 * for roots that can't be differentiated.
 */
@ProviderType
public interface NativeAutograd {

    /** Returns whether this thread is in a context, so that the graph of its results must be kept. */
    boolean isInContext();

    /**
     * Runs a backward pass, and waits for its completion in all workers.
     *
     * @param roots scalars, whose gradients are 1
     * @param retainGraph whether another pass over the same graph may follow
     * @throws CallException if the pass fails
     */
    void backward(long context, List<Tensor> roots, boolean retainGraph);

    /**
     * Visits the leaves of a context in this worker, with their gradients.
     *
     * @param visitor receives the leaf itself and its gradient, which the caller's {@code PointerScope} frees
     */
    void visitGradients(long context, BiConsumer<org.bytedeco.pytorch.Tensor, org.bytedeco.pytorch.Tensor> visitor);
}
