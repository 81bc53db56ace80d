package io.waybill.autograd.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.context.ContextTable;
import io.waybill.autograd.context.CurrentContexts;
import io.waybill.autograd.context.WorkerIds;
import io.waybill.autograd.message.ForwardEnvelope;
import java.util.List;
import java.util.function.Consumer;

/**
 * Interceptor that wraps the calls of a context in {@code FORWARD_AUTOGRAD_REQ}, and unwraps their responses. Wraps
 * calls of operators only if one of their tensors requires a gradient, and all other calls, so that the nested calls of
 * their handlers are in the context, too.
 *
 * <p><b>Threads.</b> Any number at once.
 */
public final class CallWrapper implements CallInterceptor {

    /** PyTorch's text for a stale context. */
    private static final String STALE =
            "Couldn't find autograd context data for current autograd context id: it was released, here or by another worker";

    private final CurrentContexts current;
    private final ContextTable contexts;
    private final WorkerIds workers;
    private final GraphMessages messages;
    private final Consumer<AutogradContext> created;

    /** A call that was wrapped. */
    private record Wrapped(AutogradContext context, long messageId) {}

    /** @param created receives each context that begins in this worker with a call, and not with a message */
    public CallWrapper(
            CurrentContexts current,
            ContextTable contexts,
            WorkerIds workers,
            GraphMessages messages,
            Consumer<AutogradContext> created) {
        this.current = current;
        this.contexts = contexts;
        this.workers = workers;
        this.messages = messages;
        this.created = created;
    }

    @Override
    public void onRequest(OutgoingCall call) throws RejectedMessageException {
        long id = current.find();
        if (id == CurrentContexts.NONE || call.calledType() == MessageType.FORWARD_AUTOGRAD_REQ) {
            return;
        }
        List<Tensor> tensors = call.tensors();
        if (isOperator(call) && !GraphMessages.isAnyOfGraph(tensors)) {
            return;
        }
        AutogradContext context = context(id);
        if (context.isUnknown()) {
            created.accept(context);
        }
        long messageId = messages.send(context, call.type(), call.payload(), tensors, call.references());
        know(context, workers.of(call.to()));
        call.wrap(
                MessageType.FORWARD_AUTOGRAD_REQ,
                new ForwardEnvelope(id, messageId, call.type(), call.payload()).encode());
        call.attach(new Wrapped(context, messageId));
    }

    private AutogradContext context(long id) throws RejectedMessageException {
        try {
            return contexts.arrive(id);
        } catch (RejectedMessageException e) {
            throw new RejectedMessageException(ErrorCode.REFUSED, STALE, e);
        }
    }

    private static void know(AutogradContext context, int worker) {
        if (worker != WorkerIds.UNKNOWN) {
            context.know(worker);
        }
    }

    private static boolean isOperator(OutgoingCall call) {
        MessageType type = call.calledType();
        return (type == MessageType.SCRIPT_CALL || type == MessageType.SCRIPT_REMOTE_CALL)
                && (call.operation().contains("::") || call.operation().startsWith("torch.ops."));
    }

    @Override
    public void onResponse(IncomingResponse incoming) throws RejectedMessageException {
        if (!(incoming.attachment() instanceof Wrapped wrapped)) {
            return;
        }
        ForwardEnvelope envelope = ForwardEnvelope.response(incoming.response().payload());
        AutogradContext context = wrapped.context;
        if (envelope.contextId() != context.id()) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY,
                    "a FORWARD_AUTOGRAD_RESP of context " + envelope.contextId() + " came to a request of context "
                            + context.id());
        }
        int from = incoming.response().from();
        context.know(from);
        if (!envelope.isOfGraph()) {
            incoming.unwrap(envelope.type(), envelope.payload());
            return;
        }
        List<Tensor> tensors =
                messages.receive(context, envelope, from, incoming.response().tensors(), incoming.references());
        boolean isPassed = false;
        try {
            incoming.unwrap(envelope.type(), envelope.payload(), tensors, incoming.references());
            isPassed = true;
        } finally {
            if (!isPassed) {
                tensors.forEach(tensor -> tensor.storage().release());
            }
        }
    }

    @Override
    public void onFailure(InterceptedCall call, CallException failure) {
        if (call.attachment() instanceof Wrapped wrapped && wrapped.messageId != GraphMessages.NONE) {
            messages.unsent(wrapped.context, wrapped.messageId);
        }
    }
}
