package io.waybill.autograd.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.context.ContextTable;
import io.waybill.autograd.message.ForwardEnvelope;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Responds to {@code FORWARD_AUTOGRAD_REQ}: passes the inner message to its handler, whose calls are in the context,
 * and wraps the response.
 *
 * <p><b>Threads.</b> Any; never waits.
 */
public final class ForwardHandler implements MessageHandler {

    private final ContextTable contexts;
    private final GraphMessages messages;

    public ForwardHandler(ContextTable contexts, GraphMessages messages) {
        this.contexts = contexts;
        this.messages = messages;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        ForwardEnvelope envelope = ForwardEnvelope.request(message.payload());
        AutogradContext context = contexts.arrive(envelope.contextId());
        context.know(message.from());
        List<Tensor> tensors =
                messages.receive(context, envelope, message.from(), message.tensors(), message.references());
        Dispatched dispatched = new Dispatched(context, message.id(), outbox.later());
        CompletableFuture<Response> inner;
        try {
            inner = outbox.dispatchAsync(envelope.type(), envelope.payload(), tensors, message.references());
        } finally {
            tensors.forEach(tensor -> tensor.storage().release());
        }
        inner.whenComplete(dispatched::completed);
    }

    /** A message whose handler is running. */
    private final class Dispatched {

        private final AutogradContext context;
        private final long requestId;
        private final LateResponse later;

        Dispatched(AutogradContext context, long requestId, LateResponse later) {
            this.context = context;
            this.requestId = requestId;
            this.later = later;
        }

        void completed(Response response, Throwable failure) {
            try {
                if (failure != null) {
                    fail(failure);
                } else {
                    respond(response);
                }
            } catch (RejectedMessageException e) {
                later.fail(e.code(), e.getMessage(), e);
            } catch (RuntimeException | Error e) { // from libtorch: the caller must not wait for its deadline
                later.fail(ErrorCode.HANDLER_FAILED, e.toString(), e);
            }
        }

        private void fail(Throwable failure) {
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            if (cause instanceof CallException known) {
                later.fail(known.code(), known.getMessage(), known);
            } else {
                later.fail(ErrorCode.HANDLER_FAILED, cause.toString(), cause);
            }
        }

        private void respond(Response response) throws RejectedMessageException {
            try (response) {
                if (contexts.find(context.id()).isEmpty()) {
                    throw new RejectedMessageException(ErrorCode.REFUSED, ContextTable.missing(context.id()));
                }
                long messageId = messages.respond(
                        context,
                        requestId,
                        response.type(),
                        response.payload(),
                        response.tensors(),
                        response.references());
                ForwardEnvelope envelope =
                        new ForwardEnvelope(context.id(), messageId, response.type(), response.payload());
                response.tensors().forEach(tensor -> tensor.storage().retain());
                later.send(envelope.encode(), response.tensors(), response.references());
            }
        }
    }
}
