package io.waybill.script.context;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.torch.NativeAutograd;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.bytedeco.pytorch.GenericList;

/**
 * Backward passes and gradients of functions, in the contexts of the present distributed autograd.
 *
 * <p><b>Threads.</b> Any.
 */
public final class ScriptGradients {

    private final NativeTensors natives;
    private final AtomicReference<NativeAutograd> connected = new AtomicReference<>();

    public ScriptGradients(NativeTensors natives) {
        this.natives = natives;
    }

    public void connect(NativeAutograd autograd) {
        connected.set(autograd);
    }

    public void disconnect(NativeAutograd autograd) {
        connected.compareAndSet(autograd, null);
    }

    private NativeAutograd autograd() {
        NativeAutograd autograd = connected.get();
        if (autograd == null) {
            throw new IllegalStateException("this function uses distributed autograd, which is not here:"
                    + " install the bundle io.waybill.autograd in this node");
        }
        return autograd;
    }

    /** Returns whether this thread is in a context. */
    public boolean isInContext() {
        NativeAutograd autograd = connected.get();
        return autograd != null && autograd.isInContext();
    }

    /** Visits the leaves of a context that have gradients here, each with its own. */
    public void visit(long context, BiConsumer<org.bytedeco.pytorch.Tensor, org.bytedeco.pytorch.Tensor> visitor) {
        autograd().visitGradients(context, visitor);
    }

    /** Runs a pass and waits for its completion. */
    public void backward(long context, GenericList roots, boolean retainGraph) throws RejectedMessageException {
        NativeAutograd autograd = autograd();
        List<NativeTensor> handles = new ArrayList<>();
        List<Tensor> described = new ArrayList<>();
        try {
            for (long i = 0; i < roots.size(); i++) {
                NativeTensor handle = natives.hold(roots.get(i).toTensor());
                handles.add(handle);
                described.add(((Value.OfTensor) natives.describe(handle)).value());
            }
            autograd.backward(context, described, retainGraph);
        } finally {
            described.forEach(tensor -> tensor.storage().release());
            handles.forEach(NativeTensor::release);
        }
    }
}
