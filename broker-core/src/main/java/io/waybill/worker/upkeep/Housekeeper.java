package io.waybill.worker.upkeep;

import io.waybill.home.error.HomeException;
import io.waybill.host.ChangeWatch;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ChangeIdleStrategy;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.LostFileException;
import io.waybill.journal.append.Journal;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.reference.WorkerReferences;
import java.io.IOException;
import java.util.function.Consumer;
import org.agrona.concurrent.Agent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Background maintenance, off the path of a call: reserves disk space, finds peers that come and go and files that were cut, refreshes the
 * clocks, and finds handlers that don't return. A peer that comes or goes ends its rest at once, where the host reports it.
 *
 * <p><b>Threads.</b> One of its own. <b>Errors.</b> A turn that throws is reported to the {@link FaultAlarm}, and the next one follows as
 * after any other.
 */
public final class Housekeeper implements Agent {

    private static final Logger LOG = LoggerFactory.getLogger(Housekeeper.class);
    private static final long TICK_NS = 20_000_000;
    private static final long LOOK_NS = 50_000_000;
    private static final long IDLE_TICK_NS = 80_000_000;
    /** Messages don't end a rest: so long until a burst finds space and pages made ready ahead of it again. */
    private static final long MAX_REST_NS = 250_000_000;

    /** A cut file may as well look like one that ends there. A look costs some 20 us a peer. */
    private static final long FILE_LOOK_NS = 1_000_000_000;

    private static final long CLOCK_NS = 100_000_000;
    private static final long END_LIMIT_NS = 10_000_000_000L;
    /** No rest is as long. */
    private static final long PAUSE_NS = 1_000_000_000;

    private final Clock clock;
    private final Threads threads;
    private final Links links;
    private final Poller poller;
    private final Watchdog watchdog;
    private final WorkerReferences references;
    private final OwnQueues own;
    private final Journal requests;
    private final Journal responses;
    private final FaultAlarm faults;
    private final ChangeWatch changes;
    private final LowWatermarks finished;
    private final WorkerCounters counters;
    private final PageToucher requestPages;
    private final PageToucher responsePages;
    private final ChangeIdleStrategy idle;
    private volatile AgentThread thread; // null before it starts
    private String workerName = "";
    private Consumer<IOException> onDamage = e -> {};
    private boolean damaged;
    private long nextLookNs;
    private long nextClockNs;
    private long lastBootNs;
    private long nextFileLookNs;
    private boolean homeUnreadable;
    private boolean diskFull;
    private long writtenBefore;

    public Housekeeper(
            Host host,
            ChangeWatch changes,
            Links links,
            Poller poller,
            Watchdog watchdog,
            WorkerReferences references,
            FaultAlarm faults,
            LowWatermarks finished,
            WorkerCounters counters,
            OwnQueues own,
            Journal requests,
            Journal responses) {
        this.own = own;
        this.references = references;
        this.clock = host.clock();
        this.threads = host.threads();
        this.changes = changes;
        this.idle = new ChangeIdleStrategy(clock, changes);
        this.links = links;
        this.poller = poller;
        this.watchdog = watchdog;
        this.faults = faults;
        this.finished = finished;
        this.counters = counters;
        this.requests = requests;
        this.responses = responses;
        this.requestPages = new PageToucher(requests, host.calls());
        this.responsePages = new PageToucher(responses, host.calls());
    }

    /** @param onDamage hears once, on a thread of its own, that the worker's journal can't be written any more */
    public void start(String workerName, Consumer<IOException> onDamage) {
        this.workerName = workerName;
        this.onDamage = onDamage;
        nextLookNs = clock.monotonicNs();
        nextClockNs = nextLookNs;
        nextFileLookNs = nextLookNs;
        lastBootNs = clock.bootNs();
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
            if (homeUnreadable) { // and its changes may end every rest at once
                threads.pause(TICK_NS);
            }
        }
        try {
            turn();
            MappedFaults.surface();
        } catch (RuntimeException | Error e) {
            // JDK 17 may tell of a fault in a peer's file late, and anywhere; and a handler may have taken all
            // memory
            faults.report(e);
        }
        idle.rest(restNs());
        return 0;
    }

    private long restNs() {
        if (!isIdle()) {
            return TICK_NS;
        }
        long restNs = Math.max(IDLE_TICK_NS, Math.min(MAX_REST_NS, links.restNs()));
        long dueNs = references.nextDueNs();
        return dueNs == Long.MAX_VALUE ? restNs : Math.max(TICK_NS, Math.min(restNs, dueNs - clock.monotonicNs()));
    }

    /** Whether nothing was written since the last turn, no handler keeps the poller, and the disk has room. */
    private boolean isIdle() {
        long written = requests.writtenTo() + responses.writtenTo();
        boolean idle = written == writtenBefore && !diskFull && !poller.isInHandler();
        writtenBefore = written;
        return idle;
    }

    private void turn() {
        long nowNs = clock.monotonicNs();
        if (nowNs - nextClockNs >= 0) {
            nextClockNs = nowNs + CLOCK_NS;
            clock.refresh();
            lookForPause();
        }
        if (nowNs - nextLookNs >= 0) {
            nextLookNs = nowNs + LOOK_NS;
            look();
        }
        if (nowNs - nextFileLookNs >= 0) {
            nextFileLookNs = nowNs + FILE_LOOK_NS;
            lookAtFiles();
        }
        lookForDamage();
        lookAtOwnFiles();
        topUp();
        watchdog.look(); // first: who takes the poller's role does not run the handler that keeps its last thread
        references.tick();
        poller.relieve();
        finished.update();
        requestPages.touch();
        responsePages.touch();
    }

    /** The clock that goes on while the host is suspended shows that as well. */
    private void lookForPause() {
        long bootNs = clock.bootNs();
        if (bootNs - lastBootNs > PAUSE_NS) {
            counters.countPause();
            LOG.warn(
                    "This process did not run for {} ms: it was stopped, its host was suspended, or gave it no processor",
                    (bootNs - lastBootNs) / 1_000_000);
        }
        lastBootNs = bootNs;
    }

    private void look() {
        try {
            links.refresh();
            homeUnreadable = false;
        } catch (IOException | RuntimeException e) { // a home that can't be read now may be readable again
            if (!homeUnreadable) {
                homeUnreadable = true;
                LOG.error("The home can't be read; workers that come and go are not seen", e);
            }
        }
    }

    private void lookAtFiles() {
        for (PeerLink link : links.current()) {
            if (link.isCutNow()) {
                faults.raise();
                return;
            }
        }
    }

    private void lookForDamage() {
        String damage = requests.damage().isEmpty() ? responses.damage() : requests.damage();
        if (!damage.isEmpty()) {
            stop(
                    "another process changed its files: " + damage,
                    new HomeException("worker " + workerName + " stopped: " + damage));
        }
    }

    private void lookAtOwnFiles() {
        try {
            own.turn();
        } catch (LostFileException e) {
            stop("one of its files is lost: " + e.getMessage(), e);
        }
    }

    private void stop(String why, IOException failure) {
        if (!damaged) {
            damaged = true;
            LOG.error("Worker {} stops, because {}", workerName, why);
            threads.start(workerName + "-damaged", () -> onDamage.accept(failure)); // it waits for this one to end
        }
    }

    private void topUp() {
        // the responses first: they settle what others wait for
        boolean full = !topUp(responses);
        full |= !topUp(requests);
        if (diskFull && !full) {
            LOG.info("There is room on the journal's disk again");
        }
        diskFull = full;
    }

    private boolean topUp(Journal journal) {
        try {
            journal.topUp();
            return true;
        } catch (JournalFullException e) {
            if (!diskFull) {
                diskFull = true;
                LOG.error("The journal's disk is full: new calls are refused until there is room", e);
            }
            return false;
        }
    }

    /** Ends the thread, and waits until it has ended: it touches what is closed next. Not indefinitely: a disk may hang. */
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
