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

    /** A live leaf and its gradient. */
    record Entry(NativeTensor leaf, NativeTensor gradient) {}

    /** Returns the gradient of a leaf; empty if this worker has none. A sparse one is returned in dense form. */
    Optional<Tensor> of(Tensor leaf);

    /** Returns the gradient of a leaf if it is sparse. */
    Optional<SparseTensor> sparseOf(Tensor leaf);

    /** Returns the gradient of a live leaf. */
    Optional<NativeTensor> of(NativeTensor leaf);

    /** Returns all known leaves with their gradients, in the order of their first gradients. */
    List<Entry> entries();

    /** Releases the gradients. Idempotent. */
    @Override
    void close();
}
