package io.waybill.autograd;

import io.waybill.api.Message;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Handler of backward passes from the values of references of other workers. Waits for the value. Thread-safe. */
@Component
@HandlesMessage("RREF_BACKWARD_REQ")
public final class BackwardRequests implements MessageHandler {

    private final Autograd autograd;

    @Activate
    public BackwardRequests(@Reference Autograd autograd) {
        this.autograd = autograd;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws Exception {
        autograd.referencePasses().handle(message, outbox);
    }
}
