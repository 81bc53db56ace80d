package io.waybill.worker;

import io.waybill.home.Cursors;
import io.waybill.host.Clock;
import io.waybill.host.CloseSteps;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.QueueSync;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings what a worker wrote to the disk: ever so often, or, where nobody may act on a record before it is there, as soon as something was
 * written. What was written while a sync was under way shares the next one. Where they wait for it, peers are woken when they may read,
 * and not before.
 *
 * <p><b>Threads.</b> One of its own; {@link #announce} by any. <b>Errors.</b> The first sync that fails ends it: the journal takes no more
 * records, and {@code onFailure} hears of it, once.
 */
final class Syncer implements Announcement {

    private static final Logger LOG = LoggerFactory.getLogger(Syncer.class);
    /** So late at most is seen what nobody announced. */
    private static final long LONGEST_REST_NS = 50_000_000;

    private final Clock clock;
    private final boolean each;
    private final long intervalNs;
    private final Cursors cursors;
    private final Links links;
    private final Lane requestLane;
    private final Lane responseLane;
    private final QueueSync requests;
    private final QueueSync responses;
    private final List<PeerLink> awaited = new ArrayList<>(); // guarded by this
    private boolean ended; // guarded by this
    // Set by the syncing thread when it has nothing to do, cleared by whoever announces something.
    private volatile boolean resting;
    private volatile boolean closed;
    private volatile Thread thread;

    private Syncer(
            Clock clock,
            JournalSettings settings,
            Cursors cursors,
            Links links,
            Lane requestLane,
            Lane responseLane,
            QueueSync requests,
            QueueSync responses) {
        this.clock = clock;
        this.each = settings.durability() == Durability.EACH;
        this.intervalNs = settings.syncInterval().toNanos();
        this.cursors = cursors;
        this.links = links;
        this.requestLane = requestLane;
        this.responseLane = responseLane;
        this.requests = requests;
        this.responses = responses;
    }

    /**
     * Begins with all that earlier lives wrote on the disk.
     *
     * @throws IOException when it can't be brought there
     */
    static Syncer open(
            Host host, JournalSettings settings, Cursors cursors, Links links, Lane requestLane, Lane responseLane)
            throws IOException {
        QueueSync requests =
                QueueSync.open(requestLane.journal(), host.files(), settings.roll(), cursors.requestsOnDiskBefore());
        QueueSync responses;
        try {
            responses = QueueSync.open(
                    responseLane.journal(), host.files(), settings.roll(), cursors.responsesOnDiskBefore());
        } catch (IOException | RuntimeException e) {
            requests.close();
            throw e;
        }
        cursors.requestsOnDisk(requests.onDiskBefore());
        cursors.responsesOnDisk(responses.onDiskBefore());
        return new Syncer(host.clock(), settings, cursors, links, requestLane, responseLane, requests, responses);
    }

    void start(String workerName, Threads threads, Consumer<IOException> onFailure) {
        thread = threads.start(workerName + "-syncer", () -> run(onFailure));
    }

    private void run(Consumer<IOException> onFailure) {
        try {
            while (!closed) {
                long sinceNs = clock.monotonicNs();
                boolean busy = turn();
                if (!each) {
                    restUntil(sinceNs + intervalNs);
                } else if (!busy) {
                    rest();
                }
            }
        } catch (IOException e) {
            failed(e, onFailure);
        } catch (RuntimeException | Error e) { // what is on the disk is in doubt
            failed(new IOException("the thread that syncs ended: " + e, e), onFailure);
        }
    }

    /** Returns whether there was something to do. */
    private synchronized boolean turn() throws IOException {
        if (ended) {
            return false;
        }
        takeAwaited(); // first: what was written for them is among what is synced now
        boolean answered = sync(responseLane, responses);
        if (answered) {
            cursors.responsesOnDisk(responses.onDiskBefore());
        }
        boolean asked = sync(requestLane, requests);
        if (asked) {
            cursors.requestsOnDisk(requests.onDiskBefore());
        }
        boolean rang = !awaited.isEmpty();
        for (PeerLink peer : awaited) {
            peer.ringIfAsleep();
        }
        awaited.clear();
        return answered || asked || rang;
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

    private static boolean sync(Lane lane, QueueSync queue) throws IOException {
        if (!begin(lane, queue)) {
            return false;
        }
        queue.sync();
        return true;
    }

    private static boolean begin(Lane lane, QueueSync queue) {
        lane.lock();
        try {
            return queue.begin();
        } finally {
            lane.unlock();
        }
    }

    private void restUntil(long untilNs) {
        long leftNs = untilNs - clock.monotonicNs();
        while (leftNs > 0 && !closed) {
            LockSupport.parkNanos(this, leftNs);
            leftNs = untilNs - clock.monotonicNs();
        }
    }

    private void rest() {
        resting = true; // before the last look: who writes behind it sees this
        boolean idle = !begin(responseLane, responses) && !begin(requestLane, requests) && !isSomeoneUnannounced();
        if (idle && !closed) {
            LockSupport.parkNanos(this, LONGEST_REST_NS);
        }
        resting = false;
    }

    private boolean isSomeoneUnannounced() {
        for (PeerLink peer : links.current()) {
            if (peer.isUnannounced()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void announce(PeerLink peer) {
        peer.unannounced();
        if (resting) {
            resting = false;
            LockSupport.unpark(thread);
        }
    }

    private void failed(IOException cause, Consumer<IOException> onFailure) {
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
        steps.attempt(() -> fail(requestLane, cause))
                .attempt(() -> fail(responseLane, cause))
                .attempt(() -> onFailure.accept(cause))
                .attempt(requests::close)
                .attempt(responses::close)
                .finishUnchecked();
    }

    private static void fail(Lane lane, IOException cause) {
        lane.lock();
        try {
            lane.journal().fail(cause);
        } finally {
            lane.unlock();
        }
    }

    /**
     * Syncs for the last time.
     *
     * @throws IOException when that fails
     */
    void close() throws IOException {
        closed = true;
        LockSupport.unpark(thread);
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
