package io.waybill.autograd.step;

import io.waybill.autograd.graph.ContextGraph;
import io.waybill.autograd.optim.OptimizerSettings;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntFunction;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * One of libtorch's optimizers over parameters of this worker. A step uses the gradients of an autograd context, and
 * restores the {@code .grad} of the parameters.
 *
 * <p><b>Threads.</b> Any; steps run one after another. A concurrent forward pass that uses the parameters may see some
 * of them before and some after the step. <b>Ownership.</b> Holds the parameters, and the optimizer's state, until
 * {@link #close}.
 */
public final class LocalOptimizer implements AutoCloseable {

    private final ReentrantLock lock = new ReentrantLock();
    private final List<Tensor> parameters = new ArrayList<>(); // guarded by lock
    private final Optimizer optimizer; // guarded by lock
    private boolean isClosed; // guarded by lock

    /**
     * Creates an optimizer.
     *
     * @param parameters leaves that require grad, which the caller owns
     * @throws IllegalArgumentException if one is no parameter or duplicate, or there are none
     */
    @SuppressWarnings("try")
    public LocalOptimizer(List<Tensor> parameters, OptimizerSettings settings) {
        try (PointerScope scope = new PointerScope()) {
            requireParameters(parameters);
            TensorVector vector = new TensorVector(parameters.toArray(Tensor[]::new));
            optimizer = create(vector, settings).retainReference();
            parameters.forEach(parameter -> this.parameters.add(new Tensor(parameter).retainReference()));
        }
    }

    private LocalOptimizer(Optimizer optimizer, List<Pointer> parameters) {
        this.optimizer = optimizer;
        parameters.forEach(parameter -> this.parameters.add((Tensor) parameter));
    }

    private static void requireParameters(List<Tensor> parameters) {
        if (parameters.isEmpty()) {
            throw new IllegalArgumentException("an optimizer needs parameters");
        }
        Set<Long> known = new HashSet<>();
        for (int i = 0; i < parameters.size(); i++) {
            Tensor parameter = parameters.get(i);
            if (!parameter.requires_grad() || !parameter.is_leaf()) {
                throw new IllegalArgumentException("a parameter is a leaf that requires grad, and that at " + i + " is "
                        + (parameter.is_leaf() ? "a leaf that does not" : "computed"));
            }
            if (!known.add(parameter.unsafeGetTensorImpl().address())) {
                throw new IllegalArgumentException("the parameter at " + i + " comes twice");
            }
        }
    }

    private static Optimizer create(TensorVector parameters, OptimizerSettings settings) {
        if (settings instanceof OptimizerSettings.Sgd sgd) {
            return new SGD(parameters, options(sgd));
        } else if (settings instanceof OptimizerSettings.Adam adam) {
            return new org.bytedeco.pytorch.Adam(parameters, options(adam));
        }
        return new org.bytedeco.pytorch.AdamW(parameters, options((OptimizerSettings.AdamW) settings));
    }

    private static SGDOptions options(OptimizerSettings.Sgd settings) {
        SGDOptions options = new SGDOptions(settings.lr());
        options.momentum().put(settings.momentum());
        options.dampening().put(settings.dampening());
        options.weight_decay().put(settings.weightDecay());
        options.nesterov().put(settings.nesterov());
        return options;
    }

    private static AdamOptions options(OptimizerSettings.Adam settings) {
        AdamOptions options = new AdamOptions(settings.lr());
        putBetas(options.betas(), settings.beta1(), settings.beta2());
        options.eps().put(settings.eps());
        options.weight_decay().put(settings.weightDecay());
        options.amsgrad().put(settings.amsgrad());
        return options;
    }

    private static AdamWOptions options(OptimizerSettings.AdamW settings) {
        AdamWOptions options = new AdamWOptions(settings.lr());
        putBetas(options.betas(), settings.beta1(), settings.beta2());
        options.eps().put(settings.eps());
        options.weight_decay().put(settings.weightDecay());
        options.amsgrad().put(settings.amsgrad());
        return options;
    }

    /**
     * Sets a C++ tuple of two. The compiler chose the order of its elements: the larger default is the second one's.
     */
    private static void putBetas(DoublePointer betas, double first, double second) {
        int firstAt = betas.get(0) < betas.get(1) ? 0 : 1;
        betas.put(firstAt, first);
        betas.put(1 - firstAt, second);
    }

    /**
     * Updates the parameters that have a gradient in this context.
     *
     * @return number of updated parameters
     * @throws IllegalStateException if this object or the context is closed
     * @throws RuntimeException exception from libtorch, for example because Adam accepts no sparse gradients;
     *     parameters may be updated in part
     */
    public int step(ContextGraph context) {
        return step(i -> context.gradient(parameters.get(i)));
    }

    /**
     * Updates the parameters that have a gradient.
     *
     * @param gradients function from a parameter's number to its gradient
     */
    @SuppressWarnings("try")
    int step(IntFunction<Optional<Tensor>> gradients) {
        lock.lock();
        try (PointerScope scope = new PointerScope()) {
            if (isClosed) {
                throw new IllegalStateException("this optimizer is closed");
            }
            List<Tensor> before =
                    parameters.stream().map(Tensor::grad).map(Tensor::new).toList();
            try {
                int updated = 0;
                for (int i = 0; i < parameters.size(); i++) {
                    Optional<Tensor> gradient = gradients.apply(i);
                    parameters.get(i).mutable_grad().put(gradient.orElseGet(Tensor::new));
                    updated += gradient.isPresent() ? 1 : 0;
                }
                optimizer.step();
                return updated;
            } finally {
                for (int i = 0; i < before.size(); i++) {
                    parameters.get(i).mutable_grad().put(before.get(i));
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Transfers the objects to another version of this bundle, and closes this object.
     *
     * @return libtorch's optimizer, then the parameters, each with a reference; empty if this object is closed
     */
    List<Pointer> archive() {
        lock.lock();
        try {
            List<Pointer> all = new ArrayList<>();
            if (!isClosed) {
                isClosed = true;
                all.add(optimizer);
                all.addAll(parameters);
            }
            return all;
        } finally {
            lock.unlock();
        }
    }

    /** Restores the objects that {@link #archive} transferred. */
    static LocalOptimizer restored(List<Pointer> natives) {
        return new LocalOptimizer((Optimizer) natives.get(0), natives.subList(1, natives.size()));
    }

    /** Frees the objects. Idempotent. */
    @Override
    public void close() {
        lock.lock();
        try {
            if (!isClosed) {
                isClosed = true;
                optimizer.releaseReference();
                parameters.forEach(Tensor::releaseReference);
            }
        } finally {
            lock.unlock();
        }
    }
}
