package io.waybill.script;

import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.torch.NativeOperators;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/** A bundle that holds a graph, as one for autograd does. A test tells it each step by a service of Java's own types. */
@SuppressWarnings("try")
public final class WrappingBundle implements BundleActivator, Function<String, String> {

    private BundleContext context;
    private NativeTensors natives;
    private NativeOperators operators;
    private NativeTensor leaf;
    private NativeTensor result;

    @Override
    public void start(BundleContext started) {
        context = started;
        natives = service(NativeTensors.class);
        context.registerService(Function.class, this, null);
    }

    @Override
    public void stop(BundleContext stopped) {
        // what it holds is released afterwards
    }

    private <T> T service(Class<T> type) {
        return context.getService(context.getServiceReference(type));
    }

    @Override
    public String apply(String step) {
        try (PointerScope scope = new PointerScope()) {
            return switch (step) {
                case "build" -> build();
                case "stale" -> stale();
                case "forget" -> forget();
                case "continue" -> gradient();
                case "release" -> release();
                default -> throw new IllegalArgumentException(step);
            };
        } catch (RejectedMessageException e) {
            return e.code().toString();
        } catch (RuntimeException e) {
            return e.getClass().getSimpleName() + ": " + e.getMessage();
        }
    }

    private String build() throws RejectedMessageException {
        operators = service(NativeOperators.class);
        Tensor three = torch.ones(1).mul(new org.bytedeco.pytorch.Scalar(3));
        three.set_requires_grad(true);
        leaf = natives.hold(three);
        result = times(leaf, 5);
        return result.tensor().requires_grad() ? "requires grad" : "no graph";
    }

    private NativeTensor times(NativeTensor left, long factor) throws RejectedMessageException {
        Value argument = natives.describe(left);
        try {
            Value product = operators.run(new Invocation("aten::mul", List.of(argument, Value.of(factor)), Map.of()));
            try {
                return natives.find(((Value.OfTensor) product).value()).orElseThrow();
            } finally {
                ((Value.OfTensor) product).value().storage().release();
            }
        } finally {
            ((Value.OfTensor) argument).value().storage().release();
        }
    }

    private String stale() throws RejectedMessageException {
        try {
            times(result, 1);
            return "it ran";
        } finally {
            forget();
        }
    }

    /** Lets go of the service, as a component does when its reference changes. */
    private String forget() {
        operators = null;
        return "";
    }

    private String gradient() throws RejectedMessageException {
        operators = service(NativeOperators.class);
        NativeTensor both = times(result, 6);
        Tensor gradient = torch.grad(new TensorVector(both.tensor().sum()), new TensorVector(leaf.tensor()))
                .get(0);
        both.release();
        return String.valueOf(gradient.item_float());
    }

    private String release() {
        result.release();
        leaf.release();
        return natives.liveCount() + " handles, " + natives.storageCount() + " storages";
    }
}
