package io.waybill.autograd;

import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.torch.NativeTensor;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The gradients of a context in one worker.
 *
 * <p><b>Ownership.</b> The tensors and handles that this returns are valid until it is closed. <b>Threads.</b> One.
 */
@ProviderType
public interface ContextGradients extends AutoCloseable {

    /** A leaf and its gradient, live. */
    record Entry(NativeTensor leaf, NativeTensor gradient) {}

    /** Returns the gradient of a leaf; empty when there is none here. A sparse one is returned in dense form. */
    Optional<Tensor> of(Tensor leaf);

    /** Returns the gradient of a leaf if it is sparse. */
    Optional<SparseTensor> sparseOf(Tensor leaf);

    /** Returns the gradient of a live leaf. */
    Optional<NativeTensor> of(NativeTensor leaf);

    /** Returns all leaves that are known, with their gradients, in the order in which they came. */
    List<Entry> entries();

    /** Releases the gradients. Idempotent. */
    @Override
    void close();
}
