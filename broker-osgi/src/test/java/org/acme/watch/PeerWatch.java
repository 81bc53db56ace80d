package org.acme.watch;

import io.waybill.api.Message;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Counter;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.PeerListener;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.time.Duration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Counts workers that die, asks the others four times a second how they are, and tells both when it is called. */
@Component
@HandlesMessage("watch.report")
public final class PeerWatch implements MessageHandler {

    private static final Duration INTERVAL = Duration.ofMillis(250);

    private final Broker broker;
    private final Counter lost;
    private final Counter healthy;

    @Activate
    public PeerWatch(@Reference Broker broker) {
        this.broker = broker;
        this.lost = broker.counter("peers-lost");
        this.healthy = broker.counter("health-responses");
        broker.gauge("peers", () -> broker.peers().size());
        broker.listen(new PeerListener() {
            @Override
            public void lost(Incarnation peer) {
                lost.increment();
            }
        });
        ask();
    }

    private void ask() {
        broker.schedule(INTERVAL, this::ask);
        for (Incarnation peer : broker.peers()) {
            Request request = Request.operation(peer.worker().name(), "watch.health");
            // one that starts or has left just now is asked again next time
            broker.caller().callAsync(request.timeout(INTERVAL)).thenAccept(this::responded);
        }
    }

    private void responded(Response response) {
        healthy.increment();
        response.close();
    }

    @Override
    public void handle(Message message, Outbox outbox) {
        outbox.response().int64("lost", lost.sum()).int64("healthy", healthy.sum());
    }
}
