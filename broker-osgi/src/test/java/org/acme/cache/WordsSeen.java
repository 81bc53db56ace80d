package org.acme.cache;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StatePolicy.WhenFull;
import io.waybill.api.state.StateStore;
import java.time.Duration;
import java.util.Optional;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Counts how often each word was asked for. The counts go on when the bundle is updated. */
@Component
@HandlesMessage("word.seen")
public final class WordsSeen implements MessageHandler {

    private static final StatePolicy A_DAY = new StatePolicy(Duration.ZERO, Duration.ofDays(1), WhenFull.EVICT);

    private final StateStore words;

    @Activate
    public WordsSeen(@Reference Broker broker) {
        words = broker.state("words", A_DAY);
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.respond(words.compute(message.text("word"), WordsSeen::oneMore).orElseThrow());
    }

    private static Optional<Value> oneMore(Optional<Value> count) {
        long before = count.orElse(Value.of(0)) instanceof Value.Int number ? number.value() : 0;
        return Optional.of(Value.of(before + 1));
    }
}
