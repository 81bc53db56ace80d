package io.waybill.autograd.context;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.PeerListener;
import java.util.function.Consumer;

/**
 * Releases the contexts of drivers that have ended, and notifies passes that wait for a worker that has.
 *
 * <p><b>Threads.</b> One call at a time, on a thread of the bundle.
 */
public final class Orphans implements PeerListener {

    /** Bits of an id that an incarnation counts itself; the bits above them grow with its epoch. */
    private static final int BITS_OF_INCARNATION = 24;

    private final Broker broker;
    private final ContextTable contexts;
    private final CleanUp cleanUp;
    private final Consumer<WorkerInfo> ended;

    /** @param ended is passed each worker that has ended */
    public Orphans(Broker broker, ContextTable contexts, CleanUp cleanUp, Consumer<WorkerInfo> ended) {
        this.broker = broker;
        this.contexts = contexts;
        this.cleanUp = cleanUp;
        this.ended = ended;
    }

    @Override
    public void lost(Incarnation peer) {
        ended(peer);
    }

    @Override
    public void left(Incarnation peer) {
        ended(peer);
    }

    @Override
    public void restarted(Incarnation peer, Incarnation previous) {
        ended(previous);
    }

    private void ended(Incarnation peer) {
        int worker = peer.worker().id();
        ended.accept(peer.worker());
        boolean isBack =
                broker.peers().stream().anyMatch(other -> other.worker().id() == worker);
        for (AutogradContext context : contexts.all()) {
            if (context.driver() == worker && (!isBack || isBefore(context.id(), peer.epoch()))) {
                cleanUp.release(context.id());
            }
        }
    }

    /** Returns whether an incarnation made this id; not the next one, whose ids begin at the next block. */
    private static boolean isBefore(long contextId, long epoch) {
        return MessageId.counter(contextId) >>> BITS_OF_INCARNATION < epoch;
    }
}
