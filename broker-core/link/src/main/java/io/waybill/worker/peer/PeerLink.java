package io.waybill.worker.peer;

import io.waybill.device.PeerRoutes;
import io.waybill.dispatch.KeySet;
import io.waybill.home.Peer;
import io.waybill.home.PeerDoorbell;
import io.waybill.home.PeerState;
import io.waybill.home.ReadProblem;
import io.waybill.home.Succession;
import io.waybill.home.WorkerRecord;
import io.waybill.home.WorkerState;
import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.failure.CloseSteps;
import io.waybill.tensor.segment.PeerSegments;
import io.waybill.worker.poll.NeighbourRings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Link to one incarnation of one peer: its condition, its doorbell, the reader of its queues, the requests that wait,
 * and the account of calls in flight to it. A worker also has a link to itself.
 *
 * <p><b>Threads.</b> Any, except for {@link #reader()}, {@link #backlog()} and {@link #flow()}: see their types.
 */
public final class PeerLink {

    private static final Logger LOG = LoggerFactory.getLogger(PeerLink.class);
    private static final long SUCCEEDED = 1; // a moment that has passed: the successor is there
    private static final String CURSORS_CUT = "its cursors were cut short";

    /** Condition of a link. */
    public enum Condition {
        /** The peer is running, or is starting. */
        OPEN,
        /** The peer's process has ended; the responses that it had written are still read. */
        LOST,
        /** The peer left; the responses that it had written are still read. */
        LEFT,
        /** The peer's files can't be read; {@link #problem()} has the reason. */
        UNREADABLE
    }

    private final int id;
    private final String name;
    private final Path directory;
    private final long epoch;
    private final long joinedAtNs; // by the wall clock; 0 when unknown
    private final int ownId;
    private final PeerReader reader;
    private final RequestBacklog backlog = new RequestBacklog();
    private final FlowAccount flow;
    private final PeerCursors peerCursors;
    private final PeerDoorbell doorbell;
    private final PeerSegments segments;
    private final PeerRoutes devices;
    private final Announcement announcement;
    // Written by threads that announce; two of them may log the same.
    private volatile boolean unrung;
    // Set by the thread that wrote a record for the peer, cleared by the thread that syncs.
    private volatile boolean unannounced;
    private volatile Condition condition = Condition.OPEN;
    private volatile ReadProblem problem = ReadProblem.NONE;
    private volatile AgainKeys again; // written by the thread that refreshes the links, read by callers; null for none
    // Written by callers, all with the peer's claim.
    private volatile long lookedFor;
    private volatile boolean swept; // written by the permit's holder, read by the housekeeper
    // Written by the thread that refreshes the links, read by the permit's holder and by callers.
    private volatile long succeededUntilNs; // on CLOCK_BOOTTIME; 0: requests that the peer did not begin end with it
    private volatile long firstEpoch; // first epoch of the peer's incarnations that this one continues

    PeerLink(
            Peer peer,
            PeerReader reader,
            PeerDoorbell doorbell,
            TensorTransit.Ways tensors,
            Announcement announcement) {
        this.id = peer.id();
        this.name = peer.name();
        this.directory = peer.path();
        this.epoch = peer.epoch();
        this.lookedFor = epoch;
        this.firstEpoch = epoch;
        this.joinedAtNs = peer.record()
                .filter(record -> record.epoch() == peer.epoch())
                .map(record -> TimeUnit.MILLISECONDS.toNanos(record.joinedAtMs()))
                .orElse(0L);
        this.ownId = reader.ownId();
        this.reader = reader;
        this.peerCursors = reader.peerCursors();
        this.flow = new FlowAccount(peerCursors, ownId);
        this.doorbell = doorbell;
        this.segments = tensors.segments();
        this.devices = tensors.devices();
        this.announcement = announcement;
    }

    public int id() {
        return id;
    }

    public String name() {
        return name;
    }

    /** Returns the peer's epoch: the number of joins under its name. */
    public long epoch() {
        return epoch;
    }

    /**
     * Returns the epoch of the incarnation that sent a request: the peer's queue begins with requests that an earlier
     * incarnation left unread.
     *
     * @param sentNs by the wall clock
     */
    public long epochAt(long sentNs) {
        return sentNs < joinedAtNs && epoch > 1 ? epoch - 1 : epoch;
    }

    /** Returns whether this is the link of the worker to itself. */
    public boolean isSelf() {
        return id == ownId;
    }

    /** Returns the reader of the peer's queues. */
    public PeerReader reader() {
        return reader;
    }

    /** Returns the peer's requests that were read and are not served. */
    public RequestBacklog backlog() {
        return backlog;
    }

    /** Returns the account of calls in flight to the peer. */
    public FlowAccount flow() {
        return flow;
    }

    /** Returns the peer's tensor segments, with regions leased to this worker. */
    public PeerSegments segments() {
        return segments;
    }

    /** Returns the devices on which tensors arrive that are sent to the peer. */
    public PeerRoutes devices() {
        return devices;
    }

    // ---- incarnation and condition

    /** Returns whether the peer's incarnation has begun to read this worker's queues. */
    boolean isReadByPeer() {
        PeerCursorSlot slot = flow.readSlot();
        return slot != null && slot.incarnation() == epoch;
    }

    /** Returns whether the peer claims to have joined again, and that incarnation was not looked up yet. */
    boolean isOutlived() {
        return peerCursors.epoch() > lookedFor;
    }

    /** Returns the peer's epoch as the peer claims it. */
    long claimedEpoch() {
        return peerCursors.epoch();
    }

    /** Notes that this claim was looked up; a false claim is not followed again. */
    void lookedFor(long claimedEpoch) {
        lookedFor = claimedEpoch;
    }

    public Condition condition() {
        return condition;
    }

    /** Marks the peer's files as unreadable, whether it is alive or not. */
    void unreadable(ReadProblem why) {
        if (condition == Condition.OPEN) {
            problem = why;
            condition = Condition.UNREADABLE;
        }
    }

    /** Returns why the peer's files can't be read. */
    public ReadProblem problem() {
        return problem;
    }

    /**
     * Marks the peer as ended; the permit's holder reads its last responses, and then fails the remaining calls.
     *
     * @param now the peer, perhaps in a later incarnation; what that continues has left in order
     */
    void gone(Peer now) {
        long until = now.record()
                .filter(record -> Succession.firstEpochOf(record) <= epoch)
                .map(record -> record.epoch() > epoch && record.state() != WorkerState.LEFT
                        ? SUCCEEDED
                        : Succession.until(record))
                .orElse(0L);
        if (condition == Condition.OPEN) {
            succeededUntilNs = until;
            condition = until > 0 || now.state() == PeerState.LEFT ? Condition.LEFT : Condition.LOST;
        }
    }

    /**
     * Returns whether the peer has left in order, and the requests that it had not begun wait for its successor. Any
     * thread.
     */
    public boolean mayBeSucceeded() {
        return condition == Condition.LEFT && succeededUntilNs > 0;
    }

    /** Returns the time until which a successor may come, on CLOCK_BOOTTIME; 0 when none comes. */
    public long succeededUntilNs() {
        return succeededUntilNs;
    }

    /**
     * Returns whether the peer runs the requests that another incarnation of it, which left in order, had not begun.
     */
    public boolean continues(PeerLink ended) {
        return firstEpoch <= ended.epoch && ended.epoch <= epoch;
    }

    /** Reads the entries that the peer publishes in its record. */
    void shows(WorkerRecord record) {
        if (record.epoch() == epoch) {
            firstEpoch = Succession.firstEpochOf(record);
        }
        devices.declared(record.settings());
    }

    /** Returns whether this link was left as unreadable, and the peer's cursors can't be read either. */
    boolean hasCutCursors() {
        return condition == Condition.UNREADABLE && peerCursors.isCut();
    }

    /** Returns whether a mapped file of the peer was truncated. */
    public boolean isCutNow() {
        return condition == Condition.OPEN && (reader.isCutNow() || peerCursors.isCut());
    }

    /**
     * Checks whether the peer's files were truncated since they were mapped. Returns the problem; empty when there is
     * none.
     */
    String cut() {
        String cut = reader.cut();
        return cut.isEmpty() && peerCursors.isCut() ? CURSORS_CUT : cut;
    }

    /** Returns whether the remaining calls were failed: the peer's responses are no longer read. */
    public boolean isSwept() {
        return swept;
    }

    public void swept() {
        swept = true;
    }

    /** Returns whether the link is completely read. For the permit's holder. */
    boolean isDone() {
        return swept && backlog.isDone();
    }

    /**
     * Returns whether all calls over this link are completed, and, for the link of a worker to itself, all requests are
     * read.
     */
    public boolean isQuiet() {
        long written = flow.writtenCalls();
        return !flow.expectsResponses()
                && (id != ownId || !reader.readsRequests() || written == reader.requestsReadHere());
    }

    /** Returns the keys of the peer's at-least-once handlers, which it runs again when it returns; null for none. */
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

    /** Notifies the peer of a request, or of a response, that was written for it. Call after the append. */
    public void announce(boolean isResponse) {
        announcement.announce(this, isResponse);
    }

    /** Marks a record that the peer is to be notified of later. */
    public void unannounced() {
        unannounced = true;
    }

    public boolean isUnannounced() {
        return unannounced;
    }

    /** Returns whether the peer is to be notified now, and clears the mark. */
    public boolean takeUnannounced() {
        boolean was = unannounced;
        if (was) {
            unannounced = false;
        }
        return was;
    }

    /**
     * Announces the written records, and wakes the peer if it sleeps. Call when the peer may read them.
     *
     * @param isResponse whether responses alone were written, so that the peer need not search for requests
     */
    public void ringIfAsleep(boolean isResponse) {
        try {
            if (isResponse) {
                reader.position().announceResponse();
            } else {
                reader.position().announce();
            }
            if (peerCursors.isAsleepAfterFence() && !NeighbourRings.keeps(directory)) {
                ring();
            }
        } catch (InternalError e) { // the message is written: a fault must not undo the steps that follow
            if (peerCursors.isCut()) {
                unreadable(ReadProblem.ofFiles(CURSORS_CUT));
            }
        }
    }

    private void ring() {
        try {
            doorbell.ring();
            if (unrung) {
                unrung = false;
            }
        } catch (IOException e) {
            // the message is in the journal, and a peer without a doorbell polls at intervals
            if (!unrung) {
                unrung = true;
                LOG.warn("Worker {} could not be woken, and sees messages when it looks by itself", this, e);
            }
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
