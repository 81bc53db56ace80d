package org.acme.gateway;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Forwards every operation that no other handler of this worker takes to another worker, and its response back. The
 * other worker must not forward it to this one: a request of its own is rejected.
 */
@Component
@HandlesMessage("*")
public final class Gateway implements MessageHandler {

    private final Broker broker;
    private final String to;

    /** Settings in {@code conf/org.acme.gateway.Gateway.cfg}. */
    public @interface Config {
        /** Returns the name of the worker that receives the requests. */
        String to() default "backend";
    }

    @Activate
    public Gateway(@Reference Broker broker, Config config) {
        this.broker = broker;
        this.to = config.to();
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        boolean isBack = broker.peers().stream()
                .map(Incarnation::worker)
                .filter(worker -> worker.name().equals(to))
                .mapToInt(WorkerInfo::id)
                .anyMatch(id -> id == message.from());
        if (isBack) {
            throw new RejectedMessageException(
                    ErrorCode.UNKNOWN_OPERATION, "neither this worker nor " + to + " handles " + message.operation());
        }
        Request request = Request.raw(to, message.type(), message.payload(), message.tensors(), message.references());
        try (Response response = outbox.caller().call(request)) {
            response.tensors().forEach(tensor -> tensor.storage().retain()); // for the outbox, which releases its count
            outbox.respond(response.payload(), response.tensors(), response.references());
        }
    }
}
