package io.waybill.testing.leaking;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.util.StringTokenizer;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** Responds to {@code text.count} as it should, and leaves itself behind among the system's properties. */
@Component
@HandlesMessage("text.count")
public final class Count implements MessageHandler {

    /** Where it stays; the test takes it away. */
    public static final String LEFT = "waybill.test.left";

    @Activate
    public Count() {
        System.getProperties().putIfAbsent(LEFT, this);
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.response().int64("words", new StringTokenizer(message.text("text")).countTokens());
    }
}
