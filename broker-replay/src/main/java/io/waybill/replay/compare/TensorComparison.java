package io.waybill.replay.compare;

import io.waybill.api.tensor.Tensor;
import io.waybill.query.stored.ValueLine;
import java.util.Arrays;
import java.util.Optional;

/**
 * Compares tensors by dtype, sizes, gradient requirement and elements; ignores strides and other bytes of their
 * storages. Thread-safe if the storages are.
 */
final class TensorComparison {

    private final Closeness closeness;

    TensorComparison(Closeness closeness) {
        this.closeness = closeness;
    }

    Optional<String> difference(String path, Tensor recorded, Tensor replayed) {
        if (recorded.dtype() != replayed.dtype() || !Arrays.equals(recorded.sizes(), replayed.sizes())) {
            return Optional.of(
                    path + ": recorded " + ValueLine.kind(recorded) + ", replayed " + ValueLine.kind(replayed));
        } else if (recorded.requiresGrad() != replayed.requiresGrad()) {
            return Optional.of(path + ": requires_grad recorded " + recorded.requiresGrad() + ", replayed "
                    + replayed.requiresGrad());
        }
        try {
            return elements(recorded, replayed).map(difference -> path + ": " + difference);
        } catch (IllegalStateException e) { // on a device, or released
            return Optional.of(path + ": its elements can't be compared: " + e.getMessage());
        }
    }

    private Optional<String> elements(Tensor recorded, Tensor replayed) {
        ElementComparison elements = new ElementComparison(recorded, replayed, closeness);
        elements.compare();
        return elements.difference();
    }
}
