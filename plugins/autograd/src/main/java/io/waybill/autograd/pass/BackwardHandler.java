package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.autograd.call.ArrivedTensors;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.context.ContextTable;
import io.waybill.autograd.message.BackwardMessage;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Handler of {@code BACKWARD_AUTOGRAD_REQ}. Responds when the pass has completed here, or immediately if another
 * request waits for that.
 *
 * <p><b>Threads.</b> Any number at once; computes on the calling thread, and never waits for other workers.
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
        AutogradContext context =
                contexts.find(backward.contextId()).orElseThrow(() -> passes.missing(backward.contextId()));
        if (backward.kind() == BackwardMessage.Kind.HELD) {
            context.know(message.from());
            outbox.respond(NOTHING.duplicate());
        } else if (backward.kind() == BackwardMessage.Kind.DISCOVER) {
            passes.take(context, backward, List.of(), new Responding(outbox.later(), message.from(), false));
        } else {
            Responding end = new Responding(outbox.later(), message.from(), backward.mayReturn());
            arrived.with(backward.gradients(), gradients -> passes.take(context, backward, gradients, end));
        }
    }

    /** Deferred response to a request. */
    private final class Responding implements PassEnd {

        private final LateResponse later;
        private final int from;
        private final boolean mayReturn;
        private BackwardMessage.Encoded returned; // null for none; written before the end, by a thread that it follows

        Responding(LateResponse later, int from, boolean mayReturn) {
            this.later = later;
            this.from = from;
            this.mayReturn = mayReturn;
        }

        @Override
        public boolean mayReturnTo(int worker) {
            return mayReturn && worker == from;
        }

        @Override
        public void keep(BackwardMessage.Encoded gradients) {
            returned = gradients;
        }

        @Override
        public void done() {
            if (returned == null) {
                later.send(NOTHING.duplicate(), List.of());
            } else {
                later.send(returned.payload(), returned.tensors());
            }
        }

        @Override
        public void failed(CallException failure) {
            if (returned != null) {
                returned.release();
            }
            later.fail(failure.code(), passes.prefixed(failure), failure);
        }
    }
}
