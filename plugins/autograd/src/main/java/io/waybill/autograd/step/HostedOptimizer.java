package io.waybill.autograd.step;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.optim.OptimizerSettings;
import io.waybill.torch.NativeState;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;

/**
 * An optimizer over values of references of this worker. A context identifies its leaves by the tensors of these
 * values.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> Holds a count of each tensor's storage until it is closed.
 */
final class HostedOptimizer {

    private final List<Tensor> parameters;
    private final LocalOptimizer optimizer;

    private HostedOptimizer(List<Tensor> parameters, LocalOptimizer optimizer) {
        this.parameters = List.copyOf(parameters);
        this.optimizer = optimizer;
    }

    /**
     * Creates an optimizer.
     *
     * @param parameters parameters, each with a count of its storage, which the result takes
     * @throws IllegalArgumentException if one is no parameter
     * @throws RejectedMessageException if libtorch can't use one
     */
    @SuppressWarnings("try")
    static HostedOptimizer of(List<Tensor> parameters, OptimizerSettings settings, NativeTensors natives)
            throws RejectedMessageException {
        List<NativeTensor> handles = natives.of(parameters);
        try (PointerScope scope = new PointerScope()) {
            List<org.bytedeco.pytorch.Tensor> live =
                    handles.stream().map(NativeTensor::tensor).toList();
            return new HostedOptimizer(parameters, new LocalOptimizer(live, settings));
        } finally {
            handles.forEach(NativeTensor::release);
        }
    }

    /** Updates the parameters that have a gradient; returns their number. */
    int step(AutogradContext context) {
        return optimizer.step(i -> gradient(context, parameters.get(i)));
    }

    private static Optional<org.bytedeco.pytorch.Tensor> gradient(AutogradContext context, Tensor parameter) {
        Optional<NativeTensor> leaf = context.leaves().find(parameter);
        if (leaf.isEmpty()) {
            return Optional.empty();
        }
        try {
            return context.graph().gradient(leaf.get().tensor());
        } finally {
            leaf.get().release();
        }
    }

    /** Transfers the whole state; empty if it is closed. */
    Optional<NativeState.Entry> archive(long id) {
        List<Pointer> natives = optimizer.archive();
        return natives.isEmpty()
                ? Optional.empty()
                : Optional.of(new NativeState.Entry(Value.of(id), natives, parameters, List.of()));
    }

    static HostedOptimizer restored(NativeState.Entry entry) {
        return new HostedOptimizer(entry.tensors(), LocalOptimizer.restored(new ArrayList<>(entry.natives())));
    }

    /** Closes the optimizer, once. */
    void close() {
        optimizer.close();
        parameters.forEach(parameter -> parameter.storage().release());
    }
}
