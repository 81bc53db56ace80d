package io.waybill.autograd;

import io.waybill.api.CallException;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.optim.DistributedOptimizer;
import io.waybill.autograd.optim.OptimizerSettings;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Distributed autograd, as in {@code torch.distributed.autograd}: calls in a context record the path of their tensors,
 * and a backward pass follows it to the workers that computed with them.
 *
 * <pre>{@code
 * autograd.context(context -> {
 *     try (Response response = rpc.rpcSync("ps0", new Invocation("aten::matmul", List.of(x, w), Map.of()))) {
 *         Tensor loss = …; // computed from response's tensor, by libtorch or by NativeOperators
 *         autograd.backward(context, List.of(loss));
 *     }
 *     try (ContextGradients gradients = autograd.gradients(context)) {
 *         Tensor gradient = gradients.of(w).orElseThrow();
 *     }
 * });
 * }</pre>
 *
 * <p><b>Leaves</b> are tensors that require a gradient: those of a program with their native side, or plain ones, which
 * are leaves by the identity of the {@link Tensor} object.
 *
 * <p><b>Threads.</b> Any. A context belongs to the thread that is inside {@link #context}, and to the handlers of its
 * calls, with the calls that they make. <b>Errors.</b> {@link IllegalArgumentException} and
 * {@link IllegalStateException} with PyTorch's text for wrong use; a {@link CallException} if a pass fails, with the
 * prefix {@code Error on Node N: } for each worker that the failure passed through.
 */
@ProviderType
public interface DistAutograd {

    /** Code that runs in a context. */
    @FunctionalInterface
    interface Body<E extends Exception> {

        /** @param context id of the context */
        void run(long context) throws E;
    }

    /**
     * Runs code in a new context of this thread, and then releases the context in all workers that know it.
     *
     * @throws IllegalStateException if the thread is already in a context
     */
    <E extends Exception> void context(Body<E> body) throws E;

    /**
     * Opens a context as the current one of this thread, until {@link #release}: for code that can't be one block.
     *
     * @throws IllegalStateException if the thread is already in a context
     */
    long open();

    /** Releases a context in all workers that know it. Has no effect if it does not exist in this worker. */
    void release(long context);

    /**
     * Returns the id of this thread's context.
     *
     * @throws IllegalStateException if it is in none
     */
    long currentContext();

    /**
     * Runs a backward pass in {@link BackwardMode#SMART}, after which the graph is freed. Waits for its completion in
     * all workers.
     */
    void backward(long context, List<Tensor> roots);

    /**
     * Runs a backward pass in {@link BackwardMode#SMART}. Waits for its completion in all workers.
     *
     * @param roots scalars, whose gradients are 1
     * @param retainGraph whether another pass over the same graph may follow
     */
    void backward(long context, List<Tensor> roots, boolean retainGraph);

    /** Runs a backward pass. Waits for its completion in all workers. */
    void backward(long context, List<Tensor> roots, boolean retainGraph, BackwardMode mode);

    /**
     * Runs a backward pass from the value of a reference, which must be a scalar, at its owner. Waits for its
     * completion.
     *
     * @param reference of this worker or another one
     */
    void backward(long context, RRef reference, boolean retainGraph);

    /**
     * Returns the gradients of a context in this worker, summed over all passes.
     *
     * @return gradients, which the caller closes
     */
    ContextGradients gradients(long context);

    /**
     * Creates a distributed optimizer, which has one of libtorch's optimizers at each owner of parameters. Waits for
     * all of them.
     *
     * @param parameters references to dense tensors that require a gradient and were not computed; owners may be this
     *     and other workers. The caller keeps the handles, and may close them
     * @return the optimizer, which the caller closes
     * @throws IllegalArgumentException if there are none
     * @throws CallException if an owner refuses because a value is no parameter, or could not be created
     */
    DistributedOptimizer optimizer(List<? extends RRef> parameters, OptimizerSettings settings);

    /** Returns the contexts that this worker knows. */
    List<ContextStatus> contexts();

    /** Returns the number of backward passes in which this worker takes part. */
    int passes();
}
