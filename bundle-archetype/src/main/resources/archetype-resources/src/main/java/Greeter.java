package ${package};

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import org.osgi.service.component.annotations.Component;

/** Responds to {@code ${artifactId}.greet} with a greeting. */
@Component
@HandlesMessage("${artifactId}.greet")
public final class Greeter implements MessageHandler {

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.response().text("text", "Hello, " + message.text("name"));
    }
}
