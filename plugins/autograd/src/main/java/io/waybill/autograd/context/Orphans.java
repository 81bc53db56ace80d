package io.waybill.autograd.context;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.PeerListener;
import java.util.function.Consumer;
import java.util.function.LongPredicate;

/**
 * Releases the contexts of drivers that have ended, and what else they made, and notifies passes that wait for a worker that has.
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
    private final Consumer<LongPredicate> madeThere;

    /**
     * @param ended is passed each worker that has ended
     * @param madeThere is passed then whether an id was made by that incarnation
     */
    public Orphans(
            Broker broker,
            ContextTable contexts,
            CleanUp cleanUp,
            Consumer<WorkerInfo> ended,
            Consumer<LongPredicate> madeThere) {
        this.broker = broker;
        this.contexts = contexts;
        this.cleanUp = cleanUp;
        this.ended = ended;
        this.madeThere = madeThere;
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
        LongPredicate isOrphan = id -> MessageId.worker(id) == worker && (!isBack || isBefore(id, peer.epoch()));
        for (AutogradContext context : contexts.all()) {
            if (isOrphan.test(context.id())) {
                cleanUp.release(context.id());
            }
        }
        madeThere.accept(isOrphan);
    }

    /** Returns whether an incarnation made this id; not the next one, whose ids begin at the next block. */
    private static boolean isBefore(long id, long epoch) {
        return MessageId.counter(id) >>> BITS_OF_INCARNATION < epoch;
    }
}
