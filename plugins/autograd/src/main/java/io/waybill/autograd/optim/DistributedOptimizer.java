package io.waybill.autograd.optim;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Optimizer of parameters that several workers own, like {@code torch.distributed.optim.DistributedOptimizer}. Each
 * owner has one of libtorch's optimizers for its parameters, with the state of the algorithm, such as Adam's averages.
 * Gradients and parameters don't travel.
 *
 * <p>{@code DistAutograd.optimizer} creates one.
 *
 * <p><b>Threads.</b> Any. Steps of all optimizers run one after another in each owner; the order of two concurrent
 * steps may differ between owners. A forward pass that reads the parameters during a step may see some of them before
 * and some after it. <b>Ownership.</b> The owners keep their parts until {@link #close}, or until the worker that
 * created the optimizer ends. <b>Updates.</b> The next version of the bundle at an owner continues with the state. An
 * update of the bundle in the worker that created the optimizer invalidates this object: create another one.
 */
@ProviderType
public interface DistributedOptimizer extends AutoCloseable {

    /**
     * Updates the parameters that have a gradient in a context, and waits for all owners.
     *
     * @param context context with a completed backward pass
     * @return number of updated parameters
     * @throws IllegalArgumentException if there is no such context here
     * @throws IllegalStateException if the bundle was updated in this worker: create another optimizer
     * @throws CallException if an owner fails; its text names the owner. The parameters of other owners are still
     *     updated. The code is that of the call, or {@link ErrorCode#REFUSED} with the reason: libtorch's text, or that
     *     the owner no longer has the optimizer
     */
    int step(long context);

    /** Closes the parts at all owners, and waits for them. Parameters do not change. Idempotent; never throws. */
    @Override
    void close();
}
