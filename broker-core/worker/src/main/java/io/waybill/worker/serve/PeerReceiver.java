package io.waybill.worker.serve;

import io.waybill.host.Clock;
import io.waybill.worker.call.ResponseReceiver;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.PeerReader;
import io.waybill.worker.peer.Quarantine;
import io.waybill.worker.poll.Deadlines;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.poll.Polled;
import io.waybill.worker.publish.SelfTails;

/**
 * Polls the peers: completes calls with their responses, serves their requests, and expires what is overdue.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link PollPermit}.
 */
public final class PeerReceiver implements Polled {

    private static final int POLLS_PER_CLOCK_READ = 64;
    private static final long ALL_INTERVAL_NS = 1_000_000;
    private static final long UNANNOUNCED_INTERVAL_NS = 100_000_000;
    /**
     * Number of links up to which reading the position of each next record takes less time than reading the
     * announcements, which are one more cache line.
     */
    private static final int FEW_LINKS = 3;

    /** Queues that a poll reads. */
    private enum Reads {
        /** Queues of peers that have announced something. */
        ANNOUNCED,
        /** Queues that are read in place, and queues of peers that have announced something. */
        ALL,
        /** All queues; the poll also searches for the slots in which peers announce. */
        ALL_AND_SLOTS
    }

    private final Clock clock;
    private final Links links;
    private final Deadlines deadlines;
    private final ResponseReceiver responses;
    private final RequestReceiver requests;
    private final RequestDispatcher serving;
    private final SelfTails selfTails;
    private final Quarantine quarantine;
    private final PollPermit permit;
    private long revocationsSeen;
    private int pollsUntilClock;
    private boolean allDue;
    private long nextAllNs;
    private boolean unannouncedDue = true;
    private Reads reads = Reads.ALL_AND_SLOTS; // queues that this poll reads
    private long nextUnannouncedNs;

    PeerReceiver(
            PollContext context,
            Links links,
            ResponseReceiver responses,
            RequestReceiver requests,
            SelfTails selfTails) {
        this.clock = context.clock();
        this.links = links;
        this.deadlines = context.deadlines();
        this.responses = responses;
        this.requests = requests;
        this.serving = requests.serving();
        this.selfTails = selfTails;
        this.quarantine = requests.reader().quarantine();
        this.permit = context.permit();
    }

    @Override
    public int pollAll() {
        allDue = true;
        return poll();
    }

    /**
     * {@inheritDoc} Responses that no call waits for are read once a millisecond. Queues in which a peer has announced
     * nothing for this worker are read ten times a second: its retention waits for the position after the records for
     * others.
     */
    @Override
    public int poll() {
        if (permit.revocations() != revocationsSeen) {
            takeOver();
        }
        boolean all = allDue;
        allDue = false;
        int work = 0;
        PeerLink[] current = links.current();
        reads = whatToRead(current.length);
        quarantine.lookIfAlarmed();
        for (PeerLink link : current) {
            int done = pollLink(link, all);
            if (done == PERMIT_LOST) {
                return PERMIT_LOST;
            }
            work += done;
        }
        if (serving.hasWaiting()) {
            int served = serveWaiting();
            if (served == PERMIT_LOST) {
                return PERMIT_LOST;
            }
            work += served;
        }
        if (--pollsUntilClock <= 0) {
            pollsUntilClock = POLLS_PER_CLOCK_READ;
            responses.expire(applyClock());
        }
        return work;
    }

    /** Serves requests that were read before. Returns their number, or {@link Polled#PERMIT_LOST}. */
    private int serveWaiting() {
        int work = 0;
        while (serving.hasRepeats()) {
            work++;
            if (!serving.serveRepeat()) {
                return PERMIT_LOST;
            }
        }
        int unparked = serving.hasParked() ? serving.unpark() : 0;
        return unparked == PERMIT_LOST ? PERMIT_LOST : work + unparked;
    }

    private int pollLink(PeerLink link, boolean all) {
        if (link.isSwept()) { // and perhaps closed, while a handler ran
            return link.backlog().isRecovered() && link.backlog().nextUnanswered() >= 0
                    ? requests.serveUnanswered(link)
                    : 0;
        }
        if (selfTails.rests(link) && link.condition() == PeerLink.Condition.OPEN) {
            return 0;
        }
        return pollSafely(link, all);
    }

    /** Continues for a holder that lost the permit inside a listener, and may have left work incomplete. */
    private void takeOver() {
        revocationsSeen = permit.revocations();
        serving.takeOver();
        allDue = true;
        unannouncedDue = true;
        pollsUntilClock = 0;
        long nowNs = clock.bootNs();
        deadlines.add(nowNs); // it may have been expiring calls
        for (PeerLink link : links.current()) {
            if (link.isSwept()) {
                responses.failSwept(link);
            }
        }
    }

    /** Polls one peer. A failure does not stop the polling of other peers. */
    private int pollSafely(PeerLink link, boolean all) {
        try {
            int done = pollOpen(link, all);
            quarantine.wentWell(link);
            return done;
        } catch (Exception | InternalError e) { // Chronicle throws IOExceptions that it does not declare
            if (!permit.isMine()) {
                throw e;
            }
            responses.dropNext();
            requests.dropNext();
            quarantine.failedToRead(link, e);
            return 0;
        }
    }

    private int pollOpen(PeerLink link, boolean all) {
        int work = 0;
        if (link.condition() == PeerLink.Condition.UNREADABLE) {
            responses.failSwept(link);
            return 0;
        }
        PeerReader reader = link.reader();
        lookAtAnnouncements(reader);
        if (reader.mayHaveResponses() && (all || link.flow().expectsResponses())) {
            work += responses.poll(link);
        }
        if (link.condition() != PeerLink.Condition.OPEN) {
            responses.sweep(link);
            return work;
        }
        int served = requests.poll(link);
        if (work + served == 0) {
            quarantine.looked();
        }
        return served == PERMIT_LOST ? PERMIT_LOST : work + served;
    }

    private Reads whatToRead(int links) {
        if (unannouncedDue) {
            unannouncedDue = false;
            return Reads.ALL_AND_SLOTS;
        }
        return links <= FEW_LINKS ? Reads.ALL : Reads.ANNOUNCED;
    }

    private void lookAtAnnouncements(PeerReader reader) {
        if (reads == Reads.ALL) {
            reader.ignoreAnnouncements();
            return;
        }
        quarantine.looked();
        if (reads == Reads.ALL_AND_SLOTS) {
            reader.findAnnouncements();
        } else {
            reader.lookAtAnnouncements();
        }
    }

    @Override
    public boolean mayHaveWork() {
        PeerLink[] current = links.current();
        boolean may = serving.hasWaiting();
        for (int i = 0; i < current.length && !may; i++) {
            may = mayHaveWork(current[i], current.length <= FEW_LINKS);
        }
        quarantine.looked();
        return may;
    }

    private boolean mayHaveWork(PeerLink link, boolean inPlace) {
        if (link.isSwept() || selfTails.rests(link)) {
            return false;
        }
        PeerReader reader = link.reader();
        if (inPlace) {
            reader.ignoreAnnouncements();
        } else {
            reader.lookAtAnnouncements();
        }
        return reader.mayHaveResponses() && link.flow().expectsResponses()
                || reader.readsRequests() && reader.mayHaveRequests();
    }

    @Override
    public void readClock() {
        pollsUntilClock = 0;
        applyClock();
    }

    private long applyClock() {
        quarantine.surfaceFaults();
        long nowNs = clock.bootNs();
        serving.now(nowNs);
        if (nowNs >= nextAllNs) {
            nextAllNs = nowNs + ALL_INTERVAL_NS;
            allDue = true;
        }
        if (nowNs >= nextUnannouncedNs) {
            nextUnannouncedNs = nowNs + UNANNOUNCED_INTERVAL_NS;
            unannouncedDue = true;
        }
        selfTails.forward(links.current(), nowNs);
        return nowNs;
    }
}
