package org.acme.wordcount;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.util.StringTokenizer;
import org.osgi.service.component.annotations.Component;

/** Responds to {@code text.count} with the number of words in its text. */
@Component
@HandlesMessage("text.count")
public final class WordCount implements MessageHandler {

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        int words = new StringTokenizer(message.text("text")).countTokens();
        outbox.response().int64("words", words);
    }
}
