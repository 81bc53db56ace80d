package io.waybill.worker.upkeep;

import io.waybill.home.error.HomeException;
import io.waybill.host.ChangeWatch;
import io.waybill.host.Clock;
import io.waybill.host.Processes;
import io.waybill.host.Threads;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ChangeIdleStrategy;
import io.waybill.host.failure.MappedFaults;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.Links;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.reference.WorkerReferences;
import java.io.IOException;
import java.util.function.Consumer;
import org.agrona.concurrent.Agent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Background maintenance, off the path of a call: {@link JournalUpkeep}, {@link PeerUpkeep} and the {@link Watchdog} at
 * their intervals, and the refresh of the clocks. A change of the home's workers ends its wait immediately, where the
 * host reports it.
 *
 * <p><b>Threads.</b> One of its own. <b>Errors.</b> A turn that throws is reported to the {@link FaultAlarm}, and the
 * next one follows at the usual interval.
 */
public final class Housekeeper implements Agent {

    private static final Logger LOG = LoggerFactory.getLogger(Housekeeper.class);
    private static final long TICK_NS = 20_000_000;
    /**
     * Interval of turns while little is written: the turns of many workers would take the processors from their calls.
     */
    private static final long SLOW_TICK_NS = 80_000_000;
    /**
     * Max growth of the queues between two turns that counts as little: far less than is reserved and loaded ahead of
     * them.
     */
    private static final long LITTLE_BYTES = 64 << 10;

    private static final long LOOK_NS = 50_000_000;
    /** Max rest. Messages don't end it: after this time a burst finds space and pages prepared ahead of it again. */
    private static final long MAX_REST_NS = 250_000_000;
    /** Max rest after a time without messages, while a handler runs, and where the poller spins. */
    private static final long MAX_WATCHING_REST_NS = 1_000_000_000;
    /**
     * Max rest of a housekeeper that has nothing to watch, until the next message: a worker that others have forgotten
     * uses next to nothing.
     */
    private static final long MAX_LONG_REST_NS = 5_000_000_000L;

    private static final long LONG_REST_AFTER_NS = 10_000_000_000L;

    /**
     * Interval of file checks. A truncated file may appear as a file that ends there. A check costs some 20 us per
     * peer.
     */
    private static final long FILE_LOOK_NS = 1_000_000_000;

    private static final long CLOCK_NS = 100_000_000;
    private static final long END_LIMIT_NS = 10_000_000_000L;
    /** Min time beyond the wait that counts as a pause of this process. */
    private static final long PAUSE_NS = 1_000_000_000;

    private final Clock clock;
    private final Processes processes;
    private final Threads threads;
    private final Links links;
    private final Poller poller;
    private final FaultAlarm faults;
    private final WorkerCounters counters;
    private final PeerUpkeep peers;
    private final JournalUpkeep journals;
    private final Watchdog watchdog;
    private final WorkerReferences references;
    private final ChangeWatch changes;
    private final ChangeIdleStrategy idle;
    private volatile AgentThread thread; // null before it starts
    private String workerName = "";
    private Consumer<IOException> onDamage = e -> {};
    private boolean damaged;
    private long nextLookNs;
    private long nextClockNs;
    private long lastBootNs;
    private long lastCollectedMs;
    private long nextFileLookNs;
    private long activeNs;
    private long restNs;
    private volatile Runnable onActivity = () -> {}; // set by the opening thread
    private volatile boolean haveMessagesCome; // since a long rest began; set by the thread that finds or sends them

    public Housekeeper(
            UpkeepContext context,
            PeerUpkeep peers,
            JournalUpkeep journals,
            Watchdog watchdog,
            WorkerReferences references) {
        this.clock = context.clock();
        this.processes = context.host().processes();
        this.threads = context.host().threads();
        this.links = context.links();
        this.poller = context.poller();
        this.faults = context.faults();
        this.counters = context.counters();
        this.peers = peers;
        this.journals = journals;
        this.watchdog = watchdog;
        this.references = references;
        this.changes = peers.changes();
        this.idle = new ChangeIdleStrategy(clock, changes, threads);
    }

    /** Sets the listener that is called after each turn at which there had been messages. */
    void onActivity(Runnable listener) {
        onActivity = listener;
    }

    /**
     * Starts the thread.
     *
     * @param onDamage called once, on a separate thread, when the worker's journal can't be written any more
     */
    public void start(String workerName, Consumer<IOException> onDamage) {
        this.workerName = workerName;
        this.onDamage = onDamage;
        nextLookNs = clock.monotonicNs();
        nextClockNs = nextLookNs;
        nextFileLookNs = nextLookNs;
        lastBootNs = clock.bootNs();
        lastCollectedMs = processes.collectedMs();
        activeNs = nextLookNs;
        thread = new AgentThread(workerName + "-housekeeper", this, idle);
        thread.start(threads);
    }

    @Override
    public String roleName() {
        return "housekeeper";
    }

    @Override
    public int doWork() {
        if (idle.hasChanged()) {
            nextLookNs = clock.monotonicNs();
            if (peers.isUnreadable()) { // changes may end every wait immediately
                threads.pause(TICK_NS);
            }
        }
        try {
            turn();
            MappedFaults.surface();
        } catch (RuntimeException | Error e) {
            // JDK 17 may report a fault in a peer's file late, and anywhere; and a handler may have used up the memory
            faults.report(e);
        }
        restNs = nextRestNs();
        idle.rest(restNs);
        return 0;
    }

    private long nextRestNs() {
        long nowNs = clock.monotonicNs();
        long bytes = journals.grown();
        boolean urgent = journals.isDiskFull()
                || threads.late() > 0
                || poller.isInForeignCode()
                || bytes < 0
                || bytes > LITTLE_BYTES;
        if (urgent || bytes > 0 || haveMessagesCome) { // the first one may not be served yet
            haveMessagesCome = false;
            activeNs = nowNs;
            onActivity.run();
        }
        if (urgent) {
            return TICK_NS;
        }
        long maxNs = nowNs - activeNs > LONG_REST_AFTER_NS ? longRestNs() : MAX_REST_NS;
        long untilNs = bytes > 0 ? SLOW_TICK_NS : Math.max(SLOW_TICK_NS, Math.min(maxNs, links.restNs()));
        long dueNs = references.nextDueNs();
        return dueNs == Long.MAX_VALUE ? untilNs : Math.max(TICK_NS, Math.min(untilNs, dueNs - nowNs));
    }

    private long longRestNs() {
        boolean ends = poller.onMessages(this::endLongRest); // first: a request may come meanwhile
        return ends && watchdog.isAtRest() ? MAX_LONG_REST_NS : MAX_WATCHING_REST_NS;
    }

    private void endLongRest() {
        haveMessagesCome = true;
        idle.wake();
    }

    private void turn() {
        threads.retry();
        long nowNs = clock.monotonicNs();
        if (nowNs - nextClockNs >= 0) {
            nextClockNs = nowNs + CLOCK_NS;
            clock.refresh();
            lookForPause();
        }
        if (nowNs - nextLookNs >= 0) {
            nextLookNs = nowNs + LOOK_NS;
            peers.look();
        }
        if (nowNs - nextFileLookNs >= 0) {
            nextFileLookNs = nowNs + FILE_LOOK_NS;
            peers.lookAtFiles();
        }
        try {
            journals.requireWhole();
        } catch (HomeException e) {
            stop(e);
        }
        journals.topUp();
        watchdog.look(); // first: a new poller must not run the handler that blocks the last one
        references.tick();
        poller.relieve();
        journals.prepare();
    }

    /** Detects a pause of this process, by the clock that also runs while the host is suspended. */
    private void lookForPause() {
        long bootNs = clock.bootNs();
        long collectedMs = processes.collectedMs();
        if (bootNs - lastBootNs > PAUSE_NS + restNs) {
            counters.countPause();
            LOG.warn(PauseText.of((bootNs - lastBootNs) / 1_000_000, collectedMs - lastCollectedMs));
        }
        lastBootNs = bootNs;
        lastCollectedMs = collectedMs;
    }

    private void stop(IOException failure) {
        if (!damaged) {
            damaged = true;
            threads.startWhenPossible(
                    workerName + "-damaged", () -> onDamage.accept(failure)); // it waits for this thread to end
        }
    }

    /**
     * Ends the thread, and waits until it has ended, since the parts that it uses are closed next. The wait has a
     * limit: a disk may hang.
     */
    public void close() {
        AgentThread running = thread;
        if (running == null) {
            changes.close();
            return;
        }
        running.stop();
        changes.close();
        running.join(END_LIMIT_NS);
    }
}
