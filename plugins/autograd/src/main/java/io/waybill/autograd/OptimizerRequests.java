package io.waybill.autograd;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.autograd.step.OptimizerMessages;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Handler of distributed optimizers whose parameters this worker owns. Waits for the values of references, and for
 * other steps. Thread-safe.
 */
@Component
@HandlesMessage({OptimizerMessages.CREATE, OptimizerMessages.STEP, OptimizerMessages.CLOSE})
public final class OptimizerRequests implements MessageHandler {

    private final Autograd autograd;

    @Activate
    public OptimizerRequests(@Reference Autograd autograd) {
        this.autograd = autograd;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        OptimizerMessages.respond(outbox, updated(message));
    }

    private int updated(Message message) throws RejectedMessageException {
        long id = OptimizerMessages.id(message);
        switch (message.operation()) {
            case OptimizerMessages.STEP -> {
                return autograd.optimizers().step(id, autograd.arrive(message, OptimizerMessages.context(message)));
            }
            case OptimizerMessages.CREATE ->
                autograd.optimizers()
                        .create(id, OptimizerMessages.parameters(message), OptimizerMessages.settings(message));
            default -> autograd.optimizers().close(id);
        }
        return 0;
    }
}
