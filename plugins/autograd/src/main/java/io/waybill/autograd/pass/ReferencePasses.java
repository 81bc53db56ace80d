package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.context.ContextTable;
import io.waybill.autograd.message.ReferenceBackward;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Handler of {@code RREF_BACKWARD_REQ}: backward passes from the value of a reference, which begin at its owner.
 *
 * <p><b>Threads.</b> Any that may wait: for the value, and in {@link #run} for the end of the pass.
 */
public final class ReferencePasses implements MessageHandler {

    private static final String NO_TENSOR = "RRef should contain a tensor for .backward()";

    private final Broker broker;
    private final ContextTable contexts;
    private final RootPasses passes;

    public ReferencePasses(Broker broker, ContextTable contexts, RootPasses passes) {
        this.broker = broker;
        this.contexts = contexts;
        this.passes = passes;
    }

    /**
     * Runs a pass from the value of a reference, and waits for its end.
     *
     * @throws CallException if the pass fails
     */
    public void run(AutogradContext context, RRef reference, boolean keepsGraph) {
        if (reference.isOwner()) {
            try (Response value = reference.localValue()) {
                passes.run(context, List.of(root(value)), keepsGraph, false);
            }
            return;
        }
        context.know(reference.owner());
        Request request = Request.raw(
                WorkerInfo.address(reference.owner()),
                MessageType.RREF_BACKWARD_REQ,
                new ReferenceBackward(context.id(), keepsGraph, false).encode(),
                List.of(),
                List.of(reference));
        broker.caller().call(request).close();
    }

    private static Tensor root(Response value) {
        if (value.value() instanceof Value.OfTensor tensor) {
            return tensor.value();
        }
        throw new IllegalArgumentException(NO_TENSOR);
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        ReferenceBackward backward = ReferenceBackward.decode(message.payload());
        if (message.references().size() != 1 || !message.references().get(0).isOwner()) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "a RREF_BACKWARD_REQ has one reference, to a value of its receiver");
        }
        AutogradContext context = contexts.arrive(backward.contextId());
        context.know(message.from());
        try (Response value = message.references().get(0).localValue()) {
            Tensor root = root(value);
            PassOptions options = PassOptions.of(backward.isFast(), backward.keepsGraph());
            passes.begin(context, List.of(root), options, new Responding(outbox.later()));
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw new RejectedMessageException(ErrorCode.REFUSED, e.getMessage(), e);
        }
    }

    /** Deferred response to a request. */
    private record Responding(LateResponse later) implements PassEnd {

        @Override
        public void done() {
            later.send(ByteBuffer.allocate(0), List.of());
        }

        @Override
        public void failed(CallException failure) {
            later.fail(failure.code(), failure.getMessage(), failure);
        }
    }
}
