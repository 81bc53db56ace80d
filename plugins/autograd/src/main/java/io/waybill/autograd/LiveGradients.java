package io.waybill.autograd;

import io.waybill.api.CallException;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.graph.LeafGradient;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;

/** The gradients of a context, with counts of all returned tensors. */
@SuppressWarnings("try")
final class LiveGradients implements ContextGradients {

    private final AutogradContext context;
    private final NativeTensors natives;
    private final List<NativeTensor> handles = new ArrayList<>();
    private final List<Tensor> described = new ArrayList<>();

    LiveGradients(AutogradContext context, NativeTensors natives) {
        this.context = context;
        this.natives = natives;
    }

    @Override
    public Optional<Tensor> of(Tensor leaf) {
        return find(leaf, true).map(value -> ((Value.OfTensor) value).value());
    }

    @Override
    public Optional<SparseTensor> sparseOf(Tensor leaf) {
        return find(leaf, false)
                .filter(Value.OfSparse.class::isInstance)
                .map(value -> ((Value.OfSparse) value).value());
    }

    private Optional<Value> find(Tensor leaf, boolean isDense) {
        Optional<NativeTensor> live = context.leaves().find(leaf);
        if (live.isEmpty()) {
            return Optional.empty();
        }
        try (PointerScope scope = new PointerScope()) {
            return context.graph().gradient(live.get().tensor()).map(gradient -> describe(gradient, isDense));
        } finally {
            live.get().release();
        }
    }

    private Value describe(org.bytedeco.pytorch.Tensor gradient, boolean isDense) {
        NativeTensor handle = natives.hold(isDense && gradient.is_sparse() ? gradient.to_dense() : gradient);
        try {
            Value value = natives.describe(handle);
            if (value instanceof Value.OfSparse sparse) {
                described.add(sparse.value().indices());
                described.add(sparse.value().values());
            } else {
                described.add(((Value.OfTensor) value).value());
            }
            return value;
        } catch (RejectedMessageException e) {
            throw new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), MessageId.NONE, e.getMessage(), e);
        } finally {
            handle.release();
        }
    }

    @Override
    public Optional<NativeTensor> of(NativeTensor leaf) {
        try (PointerScope scope = new PointerScope()) {
            return context.graph().gradient(leaf.tensor()).map(this::held);
        }
    }

    private NativeTensor held(org.bytedeco.pytorch.Tensor tensor) {
        NativeTensor handle = natives.hold(tensor);
        handles.add(handle);
        return handle;
    }

    @Override
    public List<Entry> entries() {
        try (PointerScope scope = new PointerScope()) {
            List<Entry> entries = new ArrayList<>();
            for (LeafGradient each : context.graph().gradients()) {
                entries.add(new Entry(held(each.leaf()), held(each.gradient())));
            }
            return entries;
        }
    }

    @Override
    public void close() {
        handles.forEach(NativeTensor::release);
        handles.clear();
        described.forEach(tensor -> tensor.storage().release());
        described.clear();
    }
}
