package io.waybill.autograd.context;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.PeerListener;
import io.waybill.autograd.message.BackwardMessage;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongPredicate;
import java.util.stream.Collectors;

/**
 * Releases contexts that their driver no longer has, and other objects of workers that have ended, and notifies passes
 * that wait for such workers.
 *
 * <p>A clean-up follows the calls of a context, so it stops at a worker that has ended. The workers after it ask the
 * driver, which either records that they have the context, or has released it, so that they release it, too. They ask
 * when a worker that they know ends, and for each context at each check.
 *
 * <p><b>Threads.</b> One call of a listener at a time, on a thread of the bundle; checks run on another one.
 */
public final class Orphans implements PeerListener, Runnable {

    private static final Logger LOG = System.getLogger(Orphans.class.getName());

    /** Number of bits of an id that an incarnation counts itself; the bits above them grow with its epoch. */
    private static final int BITS_OF_INCARNATION = 24;

    private final Broker broker;
    private final ContextTable contexts;
    private final CleanUp cleanUp;
    private final Notifications notifications;
    private final Consumer<WorkerInfo> ended;
    private final Consumer<LongPredicate> madeThere;
    private Duration period; // of checks; set at the start
    private Set<Long> seen = Set.of(); // contexts of others at the last check

    /**
     * Creates a listener.
     *
     * @param ended receives each worker that has ended
     * @param madeThere receives then whether that incarnation created an id
     */
    public Orphans(
            Broker broker,
            ContextTable contexts,
            CleanUp cleanUp,
            Notifications notifications,
            Consumer<WorkerInfo> ended,
            Consumer<LongPredicate> madeThere) {
        this.broker = broker;
        this.contexts = contexts;
        this.cleanUp = cleanUp;
        this.notifications = notifications;
        this.ended = ended;
        this.madeThere = madeThere;
    }

    /**
     * Starts listening and checking, until the broker is revoked.
     *
     * @param lookPeriod interval between checks of all contexts
     */
    public void start(Duration lookPeriod) {
        period = lookPeriod;
        broker.listen(this);
        scheduleLook();
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
        notifications.ended(worker);
        boolean isBack =
                broker.peers().stream().anyMatch(other -> other.worker().id() == worker);
        LongPredicate isOfIt = id -> !isBack || isBefore(id, peer.epoch());
        LongPredicate isOrphan = id -> MessageId.worker(id) == worker && isOfIt.test(id);
        List<AutogradContext> all = contexts.all();
        all.forEach(context -> context.lose(peer.worker(), isOfIt));
        ended.accept(peer.worker());
        for (AutogradContext context : all) {
            if (isOrphan.test(context.id())) {
                cleanUp.release(context.id());
            } else if (context.isKnownTo(worker)) {
                ask(context);
            }
        }
        madeThere.accept(isOrphan);
    }

    /** Returns whether an incarnation created this id; the ids of the next one begin at the next block. */
    private static boolean isBefore(long id, long epoch) {
        return MessageId.counter(id) >>> BITS_OF_INCARNATION < epoch;
    }

    /** Notifies the driver that this worker has a context, and releases it if the driver has done so. */
    public void ask(AutogradContext context) {
        if (context.driver() == broker.self().worker().id()) {
            return;
        }
        notifications.send(
                context.driver(),
                MessageType.BACKWARD_AUTOGRAD_REQ,
                BackwardMessage.held(context.id()).encode().payload(),
                failure -> {
                    if (failure.code() == ErrorCode.REFUSED) {
                        cleanUp.release(context.id());
                    }
                });
    }

    /** Checks all contexts of other workers that existed at the last check. */
    @Override
    public void run() {
        if (contexts.isHandedOver()) {
            return;
        }
        try {
            cleanUp.releaseLeftBehind();
            Set<Integer> there =
                    broker.peers().stream().map(peer -> peer.worker().id()).collect(Collectors.toSet());
            there.add(broker.self().worker().id());
            Set<Long> now = new HashSet<>();
            for (AutogradContext context : contexts.all()) {
                now.add(context.id());
                if (!seen.contains(context.id())) {
                    continue;
                }
                if (there.contains(context.driver())) {
                    ask(context);
                } else {
                    cleanUp.release(context.id());
                }
            }
            seen = now;
        } finally {
            scheduleLook();
        }
    }

    private void scheduleLook() {
        try {
            broker.schedule(period, this);
        } catch (IllegalStateException e) {
            LOG.log(Level.DEBUG, "The worker ends, and its contexts with it", e);
        }
    }
}
