package io.waybill.autograd;

import io.waybill.api.Message;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.LeavesLast;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Handler of the messages of backward passes. Never waits, and leaves long computations to other threads. Leaves last
 * at an update, so that passes complete with the version that began them. Thread-safe.
 */
@Component
@HandlesMessage("BACKWARD_AUTOGRAD_REQ")
@NonBlocking
public final class PassRequests implements MessageHandler, LeavesLast {

    private final Autograd autograd;

    @Activate
    public PassRequests(@Reference Autograd autograd) {
        this.autograd = autograd;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws Exception {
        autograd.backward().handle(message, outbox);
    }

    @Override
    public boolean isInProgress() {
        return autograd.passes() > 0;
    }
}
