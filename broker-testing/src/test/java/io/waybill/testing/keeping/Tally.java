package io.waybill.testing.keeping;

import io.waybill.api.Message;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Counts the requests of all incarnations, and those of its own. */
@Component
@HandlesMessage("tally.add")
public final class Tally implements MessageHandler {

    private static final String KEY = "requests";

    private final StateStore store;
    private long own;

    @Activate
    public Tally(@Reference Broker broker) {
        store = broker.state("tally", StatePolicy.KEEP.onDisk());
    }

    @Override
    public synchronized void handle(Message message, Outbox outbox) {
        long all = 1 + store.get(KEY).map(value -> ((Value.Int) value).value()).orElse(0L);
        store.put(KEY, Value.of(all));
        store.sync();
        own++;
        outbox.response()
                .int64("all", all)
                .int64("own", own)
                .int64("pid", ProcessHandle.current().pid());
    }
}
