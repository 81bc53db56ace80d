package io.waybill.worker.peer;

import io.waybill.home.ReadProblem;
import io.waybill.host.Clock;
import io.waybill.host.failure.HostFailures;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.read.Poll;
import io.waybill.worker.poll.FaultAlarm;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Quarantines peers whose files can't be read: a peer whose read failed, or, after a fault on mapped memory of unknown
 * origin, every peer with a truncated file.
 *
 * <p>Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class Quarantine {

    private static final Logger LOG = LoggerFactory.getLogger(Quarantine.class);
    /** Number of consecutive faults while one peer is read after which its files are blamed, whatever their state. */
    private static final int MAX_ALIEN_FAULTS = 3;
    /**
     * Min time between checks without a result. A check costs some 50 us a peer, and foreign code that faults
     * repeatedly must not increase it.
     */
    private static final long FRUITLESS_LOOK_NS = 10_000_000;

    private final Links links;
    private final Clock clock;
    private final FaultAlarm faults;
    private final Map<Integer, ReadProblem> said = new HashMap<>();
    private PeerLink suspect;
    private int suspicions;
    private long nextLookNs = Long.MIN_VALUE;
    // The last thread that polled, if it has only read whole records since it surfaced its faults; otherwise null.
    private Thread unharmed;

    public Quarantine(Links links, Clock clock, FaultAlarm faults) {
        this.links = links;
        this.clock = clock;
        this.faults = faults;
    }

    /**
     * Surfaces the faults of this thread if the poll found no record, so that they don't surface while a record is
     * processed. A record that passed its check was itself read without a fault.
     */
    void polled(Poll found) {
        if (found != Poll.RECORD) {
            unharmed = null;
            return;
        }
        Thread self = Thread.currentThread();
        if (unharmed != self) {
            faults.surface();
            unharmed = self;
        }
    }

    /** Notes that this thread has read other mapped memory of a peer: the next record surfaces its faults first. */
    public void looked() {
        unharmed = null;
    }

    /** Surfaces the faults of this thread before work that concerns no particular peer. */
    public void surfaceFaults() {
        faults.surface();
    }

    /** Checks all peers when a fault surfaced since the last check. */
    public void lookIfAlarmed() {
        if (faults.isRaised() && clock.monotonicNs() >= nextLookNs) {
            leaveTheCut();
        }
    }

    /**
     * Handles a failed read of a peer. The peer's own files are blamed, unless the cause is a fault: a fault may belong
     * to another file and have surfaced here.
     */
    public void failedToRead(PeerLink link, Throwable e) {
        if (!MappedFaults.is(e) || !leaveTheCut() && isSuspect(link)) {
            leave(link, HostFailures.is(e) ? ReadProblem.of(e) : ReadProblem.ofFiles(HostFailures.text(e)), e);
        }
    }

    private boolean isSuspect(PeerLink link) {
        suspicions = link == suspect ? suspicions + 1 : 1;
        suspect = link;
        return suspicions >= MAX_ALIEN_FAULTS;
    }

    /** Notes that a peer was polled without an error. */
    public void wentWell(PeerLink link) {
        if (link == suspect) {
            suspect = null;
        }
    }

    private boolean leaveTheCut() {
        faults.lower();
        boolean found = false;
        for (PeerLink link : links.current()) {
            String cut = link.condition() == PeerLink.Condition.UNREADABLE || link.isSwept() ? "" : link.cut();
            if (!cut.isEmpty()) {
                found = true;
                leave(link, ReadProblem.ofFiles(cut), null);
            }
        }
        nextLookNs = found ? Long.MIN_VALUE : clock.monotonicNs() + FRUITLESS_LOOK_NS;
        return found;
    }

    private void leave(PeerLink link, ReadProblem what, Throwable cause) {
        link.unreadable(what);
        if (what.equals(said.put(link.id(), what))) {
            return;
        }
        if (what.isOwn()) {
            LOG.error("This process can't read worker {}, and tries again after a while: {}", link, what.text(), cause);
        } else {
            LOG.error("What worker {} wrote can't be read; it is left alone for a while: {}", link, what.text(), cause);
        }
    }
}
