package io.waybill.testing.blocking;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import java.util.StringTokenizer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.osgi.service.component.annotations.Component;

/** Responds to {@code text.count} after it has waited for what never comes, though it says that it does not wait. */
@Component
@NonBlocking
@HandlesMessage("text.count")
public final class Count implements MessageHandler {

    private final CountDownLatch never = new CountDownLatch(1);

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        try {
            never.await(100, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        outbox.response().int64("words", new StringTokenizer(message.text("text")).countTokens());
    }
}
