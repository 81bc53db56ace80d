package org.acme.audit;

import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import java.time.Duration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Keeps a line for each request that this worker served in the last hour, also across updates of this bundle: who
 * called, what, which version of which bundle served it, and how it ended. {@code audit.list} responds with the lines,
 * oldest first.
 */
@Component
@InterceptsMessage
@HandlesMessage("audit.list")
public final class AuditLog implements HandlerInterceptor, MessageHandler {

    private static final StatePolicy LAST_HOUR =
            new StatePolicy(Duration.ofHours(1), Duration.ZERO, StatePolicy.WhenFull.EVICT);

    private final StateStore lines;

    @Activate
    public AuditLog(@Reference Broker broker) {
        lines = broker.state("lines", LAST_HOUR);
    }

    @Override
    public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
        boolean named = message.type().equals(MessageType.NAMED_CALL);
        String what = named ? message.operation() : message.type().name();
        message.attach(outbox.clock().instant() + " " + message.caller().name() + " " + what);
    }

    @Override
    public void after(HandledMessage handled) {
        String how =
                handled.error().map(code -> code + " " + handled.errorText()).orElse("ok");
        lines.put(
                MessageId.text(handled.id()),
                Value.of(handled.attachment() + " by " + handled.responder() + " " + how));
    }

    @Override
    public void handle(Message message, Outbox outbox) {
        outbox.respond(Value.list(lines.entries("").stream()
                .flatMap(entry -> lines.get(entry.key()).stream())
                .toArray(Value[]::new)));
    }
}
