package io.waybill.testing.good;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.util.StringTokenizer;
import org.osgi.service.component.annotations.Component;

/** Responds to {@code text.count} as it should. */
@Component
@HandlesMessage("text.count")
public final class Count implements MessageHandler {

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.response().int64("words", new StringTokenizer(message.text("text")).countTokens());
    }
}
