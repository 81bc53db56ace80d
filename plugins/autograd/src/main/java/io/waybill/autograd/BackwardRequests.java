package io.waybill.autograd;

import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Serves backward passes that other workers began. Computes, and waits for nothing but the value of a reference. Thread-safe. */
@Component
@HandlesMessage({"BACKWARD_AUTOGRAD_REQ", "RREF_BACKWARD_REQ"})
public final class BackwardRequests implements MessageHandler {

    private final Autograd autograd;

    @Activate
    public BackwardRequests(@Reference Autograd autograd) {
        this.autograd = autograd;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        if (message.type() == MessageType.BACKWARD_AUTOGRAD_REQ) {
            autograd.backward().handle(message, outbox);
        } else {
            autograd.referencePasses().handle(message, outbox);
        }
    }
}
