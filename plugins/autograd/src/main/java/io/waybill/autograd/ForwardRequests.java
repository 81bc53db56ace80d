package io.waybill.autograd;

import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import io.waybill.autograd.message.ContextMessage;
import java.nio.ByteBuffer;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Handler of the calls of contexts, and of their release; never waits. Thread-safe. */
@Component
@HandlesMessage({"FORWARD_AUTOGRAD_REQ", "CLEANUP_AUTOGRAD_CONTEXT_REQ"})
@NonBlocking
public final class ForwardRequests implements MessageHandler {

    private final Autograd autograd;

    @Activate
    public ForwardRequests(@Reference Autograd autograd) {
        this.autograd = autograd;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws Exception {
        if (message.type() == MessageType.FORWARD_AUTOGRAD_REQ) {
            autograd.forward().handle(message, outbox);
        } else {
            autograd.releasedBy(message.from(), ContextMessage.decode(message.payload()));
            outbox.respond(ByteBuffer.allocate(0));
        }
    }
}
