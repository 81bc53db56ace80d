package io.waybill.testing.different;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.util.StringTokenizer;
import org.osgi.service.component.annotations.Component;

/** Responds to {@code text.count} with one too many for texts of seven words. */
@Component
@HandlesMessage("text.count")
public final class Count implements MessageHandler {

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        int words = new StringTokenizer(message.text("text")).countTokens();
        outbox.response().int64("words", words == 7 ? 8 : words);
    }
}
