package io.waybill.worker.upkeep;

import io.waybill.home.cursor.Cursors;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.Durability;
import io.waybill.journal.append.QueueSync;
import io.waybill.worker.peer.Announcement;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.publish.QueueAppender;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Syncs the writes of a worker to the disk: at an interval, or, with {@link Durability#EACH}, as soon as there are
 * unsynced writes. Writes during a sync share the next one. With {@code EACH}, peers are woken only after the records
 * for them are on the disk.
 *
 * <p><b>Threads.</b> One of its own; {@link #announce} by any. <b>Errors.</b> The first sync that fails ends it: the
 * journal accepts no more records, and {@code onFailure} is called, once.
 */
public final class Syncer implements Announcement, Agent {

    private static final Logger LOG = LoggerFactory.getLogger(Syncer.class);
    /** Max delay until a write that was not announced is seen. */
    private static final long MAX_REST_NS = 50_000_000;

    private final Clock clock;
    private final boolean each;
    private final long intervalNs;
    private final Cursors cursors;
    private final Links links;
    private final QueueAppender requestAppender;
    private final QueueAppender responseAppender;
    private final QueueSync requests;
    private final QueueSync responses;
    private final List<PeerLink> awaited = new ArrayList<>(); // guarded by this
    private boolean ended; // guarded by this
    private final WakeableIdleStrategy idle;
    // Set by the syncing thread when it has nothing to do, cleared by a thread that announces a record.
    private volatile boolean resting;
    private Consumer<IOException> onFailure = e -> {};
    private volatile AgentThread thread; // null before it starts

    private Syncer(UpkeepContext context, QueueSync requests, QueueSync responses) {
        this.clock = context.clock();
        this.idle = new ParkingIdleStrategy(clock, context.host().threads());
        this.each = context.journal().durability() == Durability.EACH;
        this.intervalNs = context.journal().syncInterval().toNanos();
        this.cursors = context.directory().cursors();
        this.links = context.links();
        this.requestAppender = context.requests();
        this.responseAppender = context.responses();
        this.requests = requests;
        this.responses = responses;
    }

    /**
     * Opens the syncer that the durability requires, after a sync of all files that earlier incarnations wrote.
     *
     * @return null when nothing is synced
     * @throws IOException when that sync fails
     */
    public static Syncer openFor(UpkeepContext context) throws IOException {
        Durability durability = context.journal().durability();
        Cursors cursors = context.directory().cursors();
        if (durability == Durability.PROCESS) {
            cursors.requestsOnDisk(Cursors.UNKNOWN);
            cursors.responsesOnDisk(Cursors.UNKNOWN);
            return null;
        }
        Syncer syncer = open(context, cursors);
        if (durability == Durability.EACH) {
            context.links().announceBy(syncer);
        }
        return syncer;
    }

    private static Syncer open(UpkeepContext context, Cursors cursors) throws IOException {
        QueueSync requests = open(context, context.requests(), cursors.requestsOnDiskBefore());
        QueueSync responses;
        try {
            responses = open(context, context.responses(), cursors.responsesOnDiskBefore());
        } catch (IOException | RuntimeException | Error e) {
            requests.close();
            throw e;
        }
        cursors.requestsOnDisk(requests.onDiskBefore());
        cursors.responsesOnDisk(responses.onDiskBefore());
        return new Syncer(context, requests, responses);
    }

    private static QueueSync open(UpkeepContext context, QueueAppender appender, long onDiskBefore) throws IOException {
        return QueueSync.open(
                appender.journal(), context.host().files(), context.journal().roll(), onDiskBefore);
    }

    /**
     * Starts the thread.
     *
     * @param failed called on the syncing thread when a sync fails
     */
    public void start(String workerName, Threads threads, Consumer<IOException> failed) {
        onFailure = failed;
        thread = new AgentThread(workerName + "-syncer", this, idle);
        thread.start(threads);
    }

    @Override
    public String roleName() {
        return "syncer";
    }

    @Override
    public int doWork() {
        try {
            return syncOrRest();
        } catch (IOException e) {
            failed(e);
        } catch (RuntimeException | Error e) { // it is unknown what is on the disk
            failed(new IOException("the thread that syncs ended: " + e, e));
        }
        throw new AgentTerminationException(true);
    }

    private int syncOrRest() throws IOException {
        resting = false;
        long startNs = clock.monotonicNs();
        boolean busy = turn();
        if (!each) {
            idle.rest(startNs + intervalNs - clock.monotonicNs());
            return 0;
        }
        if (!busy) {
            rest();
        }
        return busy ? 1 : 0;
    }

    /** Syncs once. Returns whether there was something to do. */
    private synchronized boolean turn() throws IOException {
        if (ended) {
            throw new AgentTerminationException(true);
        }
        takeAwaited(); // first: the records announced before are among the records that are synced now
        boolean responded = sync(responseAppender, responses);
        if (responded) {
            cursors.responsesOnDisk(responses.onDiskBefore());
        }
        boolean asked = sync(requestAppender, requests);
        if (asked) {
            cursors.requestsOnDisk(requests.onDiskBefore());
        }
        boolean rang = !awaited.isEmpty();
        for (PeerLink peer : awaited) {
            peer.ringIfAsleep(false);
        }
        awaited.clear();
        return responded || asked || rang;
    }

    private void takeAwaited() {
        if (each) {
            for (PeerLink peer : links.current()) {
                if (peer.takeUnannounced()) {
                    awaited.add(peer);
                }
            }
        }
    }

    private static boolean sync(QueueAppender appender, QueueSync queue) throws IOException {
        if (!begin(appender, queue)) {
            return false;
        }
        queue.sync();
        return true;
    }

    private static boolean begin(QueueAppender appender, QueueSync queue) {
        appender.lock();
        try {
            return queue.begin();
        } finally {
            appender.unlock();
        }
    }

    private void rest() {
        resting = true; // before the last check: a thread that writes later sees this
        boolean nothing =
                !begin(responseAppender, responses) && !begin(requestAppender, requests) && !isAnyUnannounced();
        idle.rest(nothing ? MAX_REST_NS : 0);
    }

    private boolean isAnyUnannounced() {
        for (PeerLink peer : links.current()) {
            if (peer.isUnannounced()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void announce(PeerLink peer, boolean isResponse) {
        peer.unannounced();
        if (resting) {
            resting = false;
            idle.wake();
        }
    }

    private void failed(IOException cause) {
        synchronized (this) {
            if (ended) {
                return;
            }
            ended = true;
        }
        LOG.error(
                "A sync of the journal failed. It is not tried again: the journal takes no more records, and the worker"
                        + " stops",
                cause);
        CloseSteps steps = new CloseSteps();
        steps.attempt(() -> fail(requestAppender, cause))
                .attempt(() -> fail(responseAppender, cause))
                .attempt(() -> onFailure.accept(cause))
                .attempt(requests::close)
                .attempt(responses::close)
                .finishUnchecked();
    }

    private static void fail(QueueAppender appender, IOException cause) {
        appender.lock();
        try {
            appender.journal().fail(cause);
        } finally {
            appender.unlock();
        }
    }

    /**
     * Syncs for the last time.
     *
     * @throws IOException when that fails
     */
    public void close() throws IOException {
        if (thread != null) {
            thread.stop();
        }
        synchronized (this) {
            if (ended) {
                return;
            }
            CloseSteps steps = new CloseSteps().attempt(this::turn);
            ended = true;
            steps.attempt(requests::close).attempt(responses::close).finish();
        }
    }
}
