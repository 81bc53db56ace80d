package io.waybill.autograd.optim;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import org.osgi.annotation.versioning.ProviderType;

/**
 * An optimizer of parameters that several workers own, as {@code torch.distributed.optim.DistributedOptimizer}. Each owner has one of libtorch's optimizers
 * for its parameters, with the state of the algorithm, such as Adam's averages. Gradients and parameters don't travel.
 *
 * <p>{@code DistAutograd.optimizer} creates one.
 *
 * <p><b>Threads.</b> Any. Steps of all optimizers run one after another in each owner; two concurrent steps may have another order in another
 * owner. A forward pass that reads the parameters during a step may see some of them before and some after it. <b>Ownership.</b> The owners keep their parts
 * until {@link #close}, or until the worker that created the optimizer ends. <b>Updates.</b> The next version of the bundle at an owner goes on with the
 * state. An update of the bundle in the worker that created the optimizer ends this object: another one is to be created.
 */
@ProviderType
public interface DistributedOptimizer extends AutoCloseable {

    /**
     * Updates the parameters that have a gradient in a context, and waits for all owners.
     *
     * @param context of which a backward pass has ended
     * @return how many parameters were updated
     * @throws IllegalArgumentException when there is no such context here
     * @throws IllegalStateException when the bundle was updated in this worker: create another optimizer
     * @throws CallException when an owner fails; its text names the owner. The parameters of other owners are updated all the same. The code is that of the
     *     call, or {@link ErrorCode#REFUSED} with the reason: libtorch's text, or that the owner has no such optimizer any more
     */
    int step(long context);

    /** Gives up the parts at all owners, and waits for them. Parameters stay as they are. Idempotent; never throws. */
    @Override
    void close();
}
