package io.waybill.conformance.worker;

import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.Autograd;
import io.waybill.autograd.BackwardMode;
import io.waybill.autograd.ContextGradients;
import io.waybill.autograd.ContextStatus;
import io.waybill.conformance.cases.CaseFormatException;
import io.waybill.conformance.cases.Step;
import io.waybill.torch.NativeTensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;

/**
 * Steps with contexts and gradients of one case, on a worker of the kind {@code autograd}.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Closing releases what the steps made, contexts included.
 */
@SuppressWarnings("try")
final class AutogradSteps implements AutoCloseable {

    private final AutogradProgram program;
    private final List<Value> kept = new ArrayList<>();
    private final List<ContextGradients> gradients = new ArrayList<>();
    private final List<Object> hooks = new ArrayList<>();

    AutogradSteps(AutogradProgram program) {
        this.program = program;
    }

    /** Returns an input as a live leaf if it requires a gradient. */
    Value live(Value input) {
        boolean isLeaf = input instanceof Value.OfTensor dense && dense.value().requiresGrad()
                || input instanceof Value.OfSparse sparse && sparse.value().requiresGrad();
        if (!isLeaf) {
            return input;
        }
        try {
            return keep(program.live(input));
        } catch (RejectedMessageException e) {
            throw new CaseFormatException("an input that libtorch does not take: " + e.getMessage(), e);
        }
    }

    private Value keep(Value value) {
        kept.add(value);
        return value;
    }

    private Autograd autograd() {
        return program.autograd();
    }

    Value run(Step step, ValueMaker maker) throws RejectedMessageException {
        Autograd autograd = autograd();
        return switch (step.verb()) {
            case CONTEXT -> Value.of(autograd.open());
            case LEAVE -> {
                autograd.release(context(step, maker));
                yield Value.NONE;
            }
            case LOCAL ->
                keep(program.engine()
                        .run(new Invocation(step.op(), maker.values(step.args()), maker.named(step.kwargs()))));
            case HOOK -> hook(tensor(maker.value(step.value())), step.factor());
            case BACKWARD -> backward(step, maker);
            case GRADIENTS -> gradients(step, maker);
            default -> step.context() == null ? recorded(candidates(step)) : recorded(context(step, maker));
        };
    }

    /** Returns the context that a step names, or else the only one, of the driver if that is given. */
    private long context(Step step, ValueMaker maker) {
        if (step.context() != null) {
            return ((Value.Int) maker.value(step.context())).value();
        }
        List<ContextStatus> all = candidates(step);
        if (all.size() != 1) {
            throw new CaseFormatException("a step without context needs a worker with one, and this one has " + all);
        }
        return all.get(0).id();
    }

    private List<ContextStatus> candidates(Step step) {
        return autograd().contexts().stream()
                .filter(each -> step.driver() == null || each.driver() == step.driver())
                .toList();
    }

    private static Tensor tensor(Value value) {
        if (value instanceof Value.OfSparse sparse) {
            return sparse.value().values();
        }
        return ((Value.OfTensor) value).value();
    }

    private Value hook(Tensor leaf, double factor) {
        NativeTensor handle = program.natives().find(leaf).orElseThrow();
        try (PointerScope scope = new PointerScope()) {
            TensorTensorHook hook = new TensorTensorHook() {
                @Override
                public TensorBase call(TensorBase gradient) {
                    return new org.bytedeco.pytorch.Tensor(gradient).mul(new Scalar(factor));
                }
            };
            hook.retainReference();
            hooks.add(hook);
            handle.tensor().register_hook(hook);
        } finally {
            handle.release();
        }
        return Value.NONE;
    }

    private Value backward(Step step, ValueMaker maker) {
        long context = context(step, maker);
        if (step.ref() != null) {
            autograd().backward(context, ((Value.OfRRef) maker.value(step.ref())).value(), step.retain());
        } else {
            List<Tensor> roots = maker.values(step.roots()).stream()
                    .map(AutogradSteps::tensor)
                    .toList();
            BackwardMode mode = step.fast() ? BackwardMode.FAST : BackwardMode.SMART;
            autograd().backward(context, roots, step.retain(), mode);
        }
        return Value.NONE;
    }

    private Value gradients(Step step, ValueMaker maker) throws RejectedMessageException {
        ContextGradients found = autograd().gradients(context(step, maker));
        gradients.add(found);
        List<Value> values = new ArrayList<>();
        for (JsonNode leaf : step.roots()) {
            Tensor tensor = tensor(maker.value(leaf));
            Optional<Value> sparse = found.sparseOf(tensor).map(Value::of);
            values.add(sparse.or(() -> found.of(tensor).map(Value::of)).orElse(Value.NONE));
        }
        if (step.roots().isEmpty()) {
            for (ContextGradients.Entry each : found.entries()) {
                values.add(keep(program.natives().describe(each.gradient())));
            }
        }
        return new Value.Items(values);
    }

    /** Returns what the only context has recorded; none if there is none. */
    private Value recorded(List<ContextStatus> all) {
        if (all.isEmpty()) {
            return Value.NONE;
        }
        return all.size() == 1 ? recorded(all.get(0).id()) : Value.of(all.size() + " contexts");
    }

    private Value recorded(long context) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        for (ContextStatus status : autograd().contexts()) {
            if (status.id() == context) {
                fields.put(Value.of("send_functions"), Value.of(status.sends()));
                fields.put(Value.of("recv_functions"), Value.of(status.receives()));
                fields.put(Value.of("gradients"), Value.of(status.gradients()));
                fields.put(
                        Value.of("known_workers"),
                        new Value.Items(status.knownWorkers().stream()
                                .sorted()
                                .<Value>map(id -> Value.of(id))
                                .toList()));
            }
        }
        return new Value.Dict(fields);
    }

    @Override
    public void close() {
        program.autograd().contexts().forEach(status -> program.autograd().release(status.id()));
        gradients.forEach(ContextGradients::close);
        for (Value value : kept) {
            ValueEncoder encoder = new ValueEncoder().value(value);
            encoder.tensors().forEach(tensor -> tensor.storage().release());
        }
        hooks.clear();
    }
}
