package io.waybill.conformance.worker;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Operations that respond with leaves of their worker: 3 by 3 tensors of ones that require a gradient. With an argument
 * the tensor is sparse.
 *
 * <p><b>Threads.</b> Any. <b>Lifetime.</b> The parameters stay until the process ends.
 */
@SuppressWarnings("try")
final class LeafOperations {

    private final NativeTensors natives;
    private final NativeTensor dense;
    private final NativeTensor sparse;

    LeafOperations(NativeTensors natives) {
        this.natives = natives;
        this.dense = ones(false);
        this.sparse = ones(true);
    }

    /** The operations by name, without prefix. */
    Map<String, MessageHandler> all() {
        return Map.of("leaf", this::leaf, "parameter", this::parameter);
    }

    private static boolean isSparse(Message message) throws RejectedMessageException {
        return !message.invocation().positional().isEmpty();
    }

    private void leaf(Message message, Outbox outbox) throws RejectedMessageException {
        NativeTensor made = ones(isSparse(message));
        try {
            outbox.respond(natives.describe(made));
        } finally {
            made.release();
        }
    }

    private void parameter(Message message, Outbox outbox) throws RejectedMessageException {
        Value own = natives.describe(isSparse(message) ? sparse : dense);
        outbox.respond(own);
    }

    private NativeTensor ones(boolean isSparse) {
        try (PointerScope scope = new PointerScope()) {
            Tensor ones = isSparse ? torch.ones(3, 3).to_sparse() : torch.ones(3, 3);
            ones.set_requires_grad(true);
            return natives.hold(ones);
        }
    }
}
