package org.acme.wordcount;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.DescribesField;
import io.waybill.api.handler.DescribesOperation;
import io.waybill.api.handler.FieldType;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.util.StringTokenizer;
import org.osgi.service.component.annotations.Component;

/** Responds to {@code text.count} with the number of words in its text. */
@Component
@HandlesMessage("text.count")
@DescribesOperation(
        name = "text.count",
        summary = "Counts the words of a text.",
        arguments = @DescribesField(name = "text", type = FieldType.TEXT, text = "what is counted"),
        result = @DescribesField(name = "words", type = FieldType.INTEGER, text = "number of words"))
public final class WordCount implements MessageHandler {

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        int words = new StringTokenizer(message.text("text")).countTokens();
        outbox.response().int64("words", words);
    }
}
