package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.autograd.call.ArrivedTensors;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.context.ContextTable;
import io.waybill.autograd.message.BackwardMessage;
import io.waybill.torch.NativeTensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * Responds to {@code BACKWARD_AUTOGRAD_REQ}. The response comes when the pass has ended here, or at once if another request waits for that.
 *
 * <p><b>Threads.</b> Any number at once; computes on the thread that calls, and never waits for other workers.
 */
public final class BackwardHandler implements MessageHandler {

    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private final ContextTable contexts;
    private final Passes passes;
    private final ArrivedTensors arrived;

    public BackwardHandler(ContextTable contexts, Passes passes, ArrivedTensors arrived) {
        this.contexts = contexts;
        this.passes = passes;
        this.arrived = arrived;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        BackwardMessage backward = BackwardMessage.decode(message.payload(), message.tensors());
        if (backward.kind() == BackwardMessage.Kind.FAILED) {
            contexts.find(backward.contextId()).ifPresent(context -> passes.failedElsewhere(context, backward));
            outbox.respond(NOTHING.duplicate());
            return;
        }
        AutogradContext context = contexts.find(backward.contextId())
                .orElseThrow(() -> new RejectedMessageException(
                        ErrorCode.REFUSED,
                        "Error on Node " + passes.self() + ": " + ContextTable.missing(backward.contextId())));
        if (backward.kind() == BackwardMessage.Kind.HELD) {
            context.know(message.from());
            outbox.respond(NOTHING.duplicate());
        } else if (backward.kind() == BackwardMessage.Kind.DISCOVER) {
            passes.take(context, backward, List.of(), new Responding(outbox.later()));
        } else {
            feed(context, backward, outbox);
        }
    }

    @SuppressWarnings("try")
    private void feed(AutogradContext context, BackwardMessage backward, Outbox outbox)
            throws RejectedMessageException {
        List<NativeTensor> handles = new ArrayList<>();
        try (PointerScope scope = new PointerScope()) {
            List<Tensor> gradients = new ArrayList<>();
            for (Value value : backward.gradients()) {
                gradients.add(live(value, handles));
            }
            passes.take(context, backward, gradients, new Responding(outbox.later()));
        } finally {
            ArrivedTensors.release(handles);
        }
    }

    private Tensor live(Value value, List<NativeTensor> handles) throws RejectedMessageException {
        if (value instanceof Value.None) {
            return new Tensor();
        }
        NativeTensor handle = value instanceof Value.OfSparse sparse
                ? arrived.take(sparse.value())
                : arrived.take(((Value.OfTensor) value).value());
        handles.add(handle);
        return handle.tensor();
    }

    /** The deferred response to a request. */
    private final class Responding implements PassEnd {

        private final LateResponse later;

        Responding(LateResponse later) {
            this.later = later;
        }

        @Override
        public void done() {
            later.send(NOTHING.duplicate(), List.of());
        }

        @Override
        public void failed(CallException failure) {
            later.fail(failure.code(), passes.prefixed(failure));
        }
    }
}
