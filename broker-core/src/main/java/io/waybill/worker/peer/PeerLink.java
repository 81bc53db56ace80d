package io.waybill.worker.peer;

import io.waybill.dispatch.KeySet;
import io.waybill.home.Peer;
import io.waybill.home.PeerDoorbell;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.failure.CloseSteps;
import io.waybill.tensor.segment.PeerSegments;
import java.io.IOException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A link to one incarnation of one peer: whether it is reachable, how it is woken, and what is kept of it: the reader of its queues, the
 * requests that wait, and the account of what is in flight to it. A worker has a link to itself, too.
 *
 * <p><b>Threads.</b> Any, except for {@link #reader()}, {@link #backlog()} and {@link #flow()}, which say so themselves.
 */
public final class PeerLink {

    private static final Logger LOG = LoggerFactory.getLogger(PeerLink.class);
    private static final String CURSORS_CUT = "its cursors were cut short";

    /** Whether calls can be made over a link. */
    public enum Condition {
        /** The peer is there, or is starting. */
        OPEN,
        /** The peer's process is gone; the responses that it had written are still read. */
        LOST,
        /** The peer left; the responses that it had written are still read. */
        LEFT,
        /** The peer's files can't be read; {@link #problem()} says why. */
        UNREADABLE
    }

    private final int id;
    private final String name;
    private final long epoch;
    private final int ownId;
    private final PeerReader reader;
    private final RequestBacklog backlog = new RequestBacklog();
    private final FlowAccount flow;
    private final PeerCursors peerCursors;
    private final PeerDoorbell doorbell;
    private final PeerSegments segments;
    private final Announcement announcement;
    // Set by the thread that wrote something for the peer, cleared by the thread that syncs.
    private volatile boolean unannounced;
    private volatile Condition condition = Condition.OPEN;
    private volatile String problem = "";
    private volatile AgainKeys again; // written by the thread that refreshes the links, read by callers; null for none
    // Written by callers, who all write what the peer claims.
    private volatile long lookedFor;
    private volatile boolean swept; // written by the permit's holder, read by the housekeeper

    PeerLink(
            Peer peer,
            int ownId,
            PeerReader reader,
            FlowAccount flow,
            PeerCursors peerCursors,
            PeerDoorbell doorbell,
            PeerSegments segments,
            Announcement announcement) {
        this.id = peer.id();
        this.name = peer.name();
        this.epoch = peer.epoch();
        this.lookedFor = epoch;
        this.ownId = ownId;
        this.reader = reader;
        this.flow = flow;
        this.peerCursors = peerCursors;
        this.doorbell = doorbell;
        this.segments = segments;
        this.announcement = announcement;
    }

    public int id() {
        return id;
    }

    public String name() {
        return name;
    }

    /** The number of the peer's incarnation: how often its name was joined. */
    public long epoch() {
        return epoch;
    }

    /** Whether this is the link of the worker to itself. */
    public boolean isSelf() {
        return id == ownId;
    }

    /** The reader of the peer's queues. */
    public PeerReader reader() {
        return reader;
    }

    /** The peer's requests that were read and are not served. */
    public RequestBacklog backlog() {
        return backlog;
    }

    /** What is in flight to the peer. */
    public FlowAccount flow() {
        return flow;
    }

    /** The peer's tensor segments, of which regions are leased to this worker. */
    public PeerSegments segments() {
        return segments;
    }

    // ---- incarnation and condition

    /** Whether the peer claims that it joined again, and that incarnation was not looked for yet. */
    boolean isOutlived() {
        return peerCursors.epoch() > lookedFor;
    }

    /** The peer's epoch as it claims it. */
    long claimedEpoch() {
        return peerCursors.epoch();
    }

    /** The peer was looked for after this claim; one that is not true is not followed again. */
    void lookedFor(long claimedEpoch) {
        lookedFor = claimedEpoch;
    }

    public Condition condition() {
        return condition;
    }

    /** The peer's files can't be read, whether it is alive or not. */
    void unreadable(String why) {
        if (condition == Condition.OPEN) {
            problem = why;
            condition = Condition.UNREADABLE;
        }
    }

    /** Why the peer's files can't be read. */
    public String problem() {
        return problem;
    }

    /** The peer is gone; the permit's holder fails the calls that remain, once its last responses are read. */
    void gone(Condition how) {
        if (condition == Condition.OPEN) {
            condition = how;
        }
    }

    /** Whether a file of a peer that is read was cut. */
    public boolean isCutNow() {
        return condition == Condition.OPEN && (reader.isCutNow() || peerCursors.isCut());
    }

    /** Checks whether the peer's files were cut since they were mapped. Returns what is wrong; empty when nothing is. */
    String cut() {
        String cut = reader.cut();
        return cut.isEmpty() && peerCursors.isCut() ? CURSORS_CUT : cut;
    }

    /** Whether the calls that remained were failed: the peer's responses are not read any more. */
    public boolean isSwept() {
        return swept;
    }

    public void swept() {
        swept = true;
    }

    /** Whether nothing more is read of the peer. For the permit's holder. */
    boolean isDone() {
        return swept && backlog.isDone();
    }

    /** Whether all calls over this link are completed, and, for the link of a worker to itself, all requests are read. */
    public boolean isQuiet() {
        long sent = flow.sentCalls();
        return !flow.expectsResponses()
                && (id != ownId || !reader.readsRequests() || sent == reader.requestsReadHere());
    }

    /** The keys of the handlers that the peer runs again after it died and returned; null for none. */
    public KeySet again() {
        AgainKeys keys = again;
        return keys == null ? null : keys.set();
    }

    /** Sets the keys of the handlers that the peer runs again. */
    void again(List<String> keys) {
        AgainKeys known = again;
        if (known == null
                ? !keys.isEmpty()
                : known.keys() != keys && !known.keys().equals(keys)) {
            again = keys.isEmpty() ? null : new AgainKeys(keys, KeySet.of(keys));
        }
    }

    private record AgainKeys(List<String> keys, KeySet set) {}

    // ---- waking

    /** Sees to it that the peer is notified of what was written for it. Call after the append. */
    public void announce() {
        announcement.announce(this);
    }

    /** Something was written that the peer is not to be woken for yet. */
    public void unannounced() {
        unannounced = true;
    }

    public boolean isUnannounced() {
        return unannounced;
    }

    /** Whether the peer is to be woken now for something. */
    public boolean takeUnannounced() {
        boolean was = unannounced;
        if (was) {
            unannounced = false;
        }
        return was;
    }

    /** Wakes the peer when it sleeps. Call when it may read what was written. */
    public void ringIfAsleep() {
        try {
            if (peerCursors.isAsleepAfterFence()) {
                ring();
            }
        } catch (InternalError e) { // the message is written: a fault must not undo what follows from that
            if (peerCursors.isCut()) {
                unreadable(CURSORS_CUT);
            }
        }
    }

    private void ring() {
        try {
            doorbell.ring();
        } catch (IOException e) {
            // the message is in the journal, and a peer without a doorbell polls now and then
            LOG.warn("Worker {} could not be woken", this, e);
        }
    }

    void close() {
        new CloseSteps()
                .attempt(reader::close)
                .attempt(segments::close)
                .attempt(doorbell::close)
                .finishUnchecked();
    }

    @Override
    public String toString() {
        return name + " (id " + id + ")";
    }
}
