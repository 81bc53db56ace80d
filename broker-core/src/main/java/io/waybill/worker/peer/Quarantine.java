package io.waybill.worker.peer;

import io.waybill.host.Clock;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.read.Poll;
import io.waybill.worker.poll.FaultAlarm;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leaves peers alone whose files can't be read: one that was found out while it was read, or, after a fault on mapped memory that may have
 * been anybody's, all whose files were cut.
 *
 * <p>Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class Quarantine {

    private static final Logger LOG = LoggerFactory.getLogger(Quarantine.class);
    /** So many faults one after the other in one peer's files are theirs, whatever the files look like. */
    private static final int MAX_ALIEN_FAULTS = 3;
    /** A look costs some 50 us a peer, and code of others that faults indefinitely must not make it more. */
    private static final long FRUITLESS_LOOK_NS = 10_000_000;

    private final Links links;
    private final Clock clock;
    private final FaultAlarm faults;
    private final Map<Integer, String> said = new HashMap<>();
    private PeerLink suspect;
    private int suspicions;
    private long nextLookNs = Long.MIN_VALUE;
    // The thread that polled last and has found nothing but records since it let out its faults; null when there is
    // none.
    private Thread unharmed;

    public Quarantine(Links links, Clock clock, FaultAlarm faults) {
        this.links = links;
        this.clock = clock;
        this.faults = faults;
    }

    /**
     * Lets out the faults that this thread met when it found no record: what is done with a record is none of their business. A record that
     * passed its check was itself read without one.
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

    /** Lets out what this thread met, before something that has to do with no peer in particular. */
    public void surfaceFaults() {
        faults.surface();
    }

    /** Looks at all peers when a fault came to light since the last look. */
    public void lookIfAlarmed() {
        if (faults.isRaised() && clock.monotonicNs() >= nextLookNs) {
            leaveTheCut();
        }
    }

    /**
     * What a peer wrote could not be read, for this reason. Its own files are to blame, unless it is a fault: that may be of another file,
     * and have come to light here.
     */
    public void failedToRead(PeerLink link, Throwable e) {
        if (!MappedFaults.is(e) || !leaveTheCut() && isSuspect(link)) {
            leave(link, String.valueOf(e), e);
        }
    }

    private boolean isSuspect(PeerLink link) {
        suspicions = link == suspect ? suspicions + 1 : 1;
        suspect = link;
        return suspicions >= MAX_ALIEN_FAULTS;
    }

    /** A peer was polled, and nothing came of it that should not. */
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
                leave(link, cut, null);
            }
        }
        nextLookNs = found ? Long.MIN_VALUE : clock.monotonicNs() + FRUITLESS_LOOK_NS;
        return found;
    }

    private void leave(PeerLink link, String what, Throwable cause) {
        link.unreadable(what);
        if (!what.equals(said.put(link.id(), what))) {
            LOG.error("What worker {} wrote can't be read; it is left alone for a while: {}", link, what, cause);
        }
    }
}
