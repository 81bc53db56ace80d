package io.waybill.testing.losing;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.StringTokenizer;
import org.osgi.service.component.annotations.Component;

/** Responds to {@code text.count} when the next call comes: the last one before an upgrade is forgotten. */
@Component
@HandlesMessage("text.count")
public final class Count implements MessageHandler {

    private record Waiting(LateResponse response, long words) {}

    private final Deque<Waiting> waiting = new ArrayDeque<>(); // guarded by this

    @Override
    public synchronized void handle(Message message, Outbox outbox) throws RejectedMessageException {
        long words = new StringTokenizer(message.text("text")).countTokens();
        waiting.add(new Waiting(outbox.later(), words));
        if (waiting.size() > 1) {
            Waiting first = waiting.remove();
            first.response.send(new Value.Dict(Map.of(Value.of("words"), Value.of(first.words))));
        }
    }
}
