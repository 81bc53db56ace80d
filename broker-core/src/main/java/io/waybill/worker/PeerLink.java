package io.waybill.worker;

import io.waybill.dispatch.KeySet;
import io.waybill.home.PeerDoorbell;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.read.JournalTail;
import io.waybill.tensor.PeerSegments;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a worker has of one incarnation of one peer: the tails of its two queues, the place in its own cursors that says how far it has read, the
 * peer's cursors that say how far the peer has, and the account of what is on its way to it. A worker has a link to itself, too.
 *
 * <p><b>Threads.</b> Tails belong to the holder of the {@link PollPermit}; the account of what was sent to the holder of the request
 * lane's lock; the rest is thread-safe.
 */
final class PeerLink {

    private static final Logger LOG = LoggerFactory.getLogger(PeerLink.class);
    private static final long NOT_WRITTEN = -2;
    private static final long[] NOTHING = {};
    private static final String CURSORS_CUT = "its cursors were cut short";
    private static final VarHandle SETTLED_CALLS;
    private static final VarHandle SETTLED_BYTES;
    private static final VarHandle SENT_CALLS;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            SETTLED_CALLS = lookup.findVarHandle(PeerLink.class, "settledCalls", long.class);
            SENT_CALLS = lookup.findVarHandle(PeerLink.class, "sentCalls", long.class);
            SETTLED_BYTES = lookup.findVarHandle(PeerLink.class, "settledBytes", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Whether calls can be made over a link. */
    enum Condition {
        /** The peer is there, or is starting. */
        OPEN,
        /** Its process is gone; what it had answered is still to be read. */
        LOST,
        /** It left; likewise. */
        LEFT,
        /** Its files can't be read, for which see {@link #problem()}. */
        UNREADABLE
    }

    private final int id;
    private final String name;
    private final long epoch;
    private final CursorSlot position;
    private final PeerCursors peerCursors;
    private final boolean waitsForDisk;
    private final PeerDoorbell doorbell;
    private final int ownId;
    private final JournalTail requests;
    private final JournalTail responses;
    private final PeerSegments segments;
    private final Announcement announcement;
    // Set by who wrote something for the peer, cleared by the thread that syncs.
    private volatile boolean unannounced;
    private volatile Condition condition = Condition.OPEN;
    private volatile String problem = "";
    // Written by who made the link and by the recovery, read by the permit's holder and the housekeeper.
    private volatile boolean recovered = true;
    private volatile AgainKeys again; // written by who looks into the home, read by callers; null for none
    // Written by who made the link to the next incarnation, read by the permit's holder.
    private volatile long responsesEnd = Long.MAX_VALUE;
    // Written by callers, who all write what the peer claims.
    private volatile long lookedFor;

    // Of the permit's holder.
    private volatile boolean swept; // read by the housekeeper
    private final Unserved unserved = new Unserved();
    private long[] unanswered = NOTHING; // by an earlier incarnation; from the first to be served on
    private int served;
    private boolean placed;
    private long fileSequence = NOT_WRITTEN;
    private long requestsRead;
    private long requestsReadHere;
    private long requestBytesRead;
    private long damaged;

    // Of the request lane's lock.
    private volatile long sentCalls; // read by the permit's holder
    private long sentBytes;
    private PeerCursorSlot readByPeer;
    private long readCallsBefore;
    private long readCallsSeen;

    private volatile long settledCalls;
    private volatile long settledBytes;

    /** @param requests null when this worker does not serve */
    PeerLink(
            int id,
            String name,
            long epoch,
            int ownId,
            CursorSlot position,
            PeerCursors peerCursors,
            PeerDoorbell doorbell,
            JournalTail requests,
            JournalTail responses,
            PeerSegments segments,
            Announcement announcement) {
        this.announcement = announcement;
        this.id = id;
        this.name = name;
        this.epoch = epoch;
        this.lookedFor = epoch;
        this.ownId = ownId;
        this.position = position;
        this.peerCursors = peerCursors;
        this.waitsForDisk = peerCursors.readersWait(); // as the peer's life began
        this.doorbell = doorbell;
        this.requests = requests;
        this.responses = responses;
        this.segments = segments;
        this.readByPeer = readSlot();
        this.readCallsBefore = readByPeer == null ? 0 : readByPeer.requestsConsumed();
    }

    int id() {
        return id;
    }

    String name() {
        return name;
    }

    /** Which life of the peer: counts how often its name was joined. */
    long epoch() {
        return epoch;
    }

    /** Whether the peer claims that it joined again, and nobody looked for that incarnation yet. */
    boolean isOutlived() {
        return peerCursors.epoch() > lookedFor;
    }

    /** The peer's epoch as it claims it. */
    long claimedEpoch() {
        return peerCursors.epoch();
    }

    /** The peer was looked for with this claim in flight: a claim that is not true is not followed again. */
    void lookedFor(long claimedEpoch) {
        lookedFor = claimedEpoch;
    }

    Condition condition() {
        return condition;
    }

    /** The peer's files can't be read, whether it lives or not. */
    void unreadable(String why) {
        if (condition == Condition.OPEN) {
            problem = why;
            condition = Condition.UNREADABLE;
        }
    }

    /** Whether it is read and a file was cut meanwhile, which is no fault as long as only the rest of the last page is read. Any thread. */
    boolean isCutNow() {
        return condition == Condition.OPEN
                && (responses.isCutNow() || requests != null && requests.isCutNow() || peerCursors.isCut());
    }

    /** Looks whether its files were cut since they were mapped. Returns what is wrong; empty text when nothing is. */
    String cut() {
        String cut = responses.cut();
        if (cut.isEmpty() && requests != null) {
            cut = requests.cut();
        }
        return cut.isEmpty() && peerCursors.isCut() ? CURSORS_CUT : cut;
    }

    /** Why its files can't be read. */
    String problem() {
        return problem;
    }

    /** The peer is gone; the permit's holder settles what it had not answered, once its last responses are read. */
    void gone(Condition how) {
        if (condition == Condition.OPEN) {
            condition = how;
        }
    }

    boolean isSwept() {
        return swept;
    }

    void swept() {
        swept = true;
    }

    /** Its requests that wait for a handler and are read again then. */
    Unserved unserved() {
        return unserved;
    }

    /** What this worker tells the peer, and a later incarnation of its own. */
    CursorSlot position() {
        return position;
    }

    /** What an earlier incarnation of this worker left unanswered is looked for: until it is known, no request is served. */
    void recovering() {
        recovered = false;
    }

    /** These requests of the peer an earlier incarnation had read and not answered. */
    void recovered(long[] indexes) {
        for (long index : indexes) {
            unserved.add(index);
        }
        unanswered = indexes;
        served = 0;
        recovered = true; // last: who sees it sees the rest
    }

    /** Whether it is known what an earlier incarnation left unanswered. */
    boolean isRecovered() {
        return recovered;
    }

    /** The oldest request that an earlier incarnation left unanswered; -1 when there is none. */
    long nextUnanswered() {
        return served < unanswered.length ? unanswered[served] : -1;
    }

    /** It is in flight. */
    void unansweredTaken() {
        unserved.remove(unanswered[served]);
        if (++served == unanswered.length) {
            unanswered = NOTHING;
            served = 0;
        }
    }

    /** What the peer runs again when it died and returned; null for nothing. */
    KeySet again() {
        AgainKeys keys = again;
        return keys == null ? null : keys.set();
    }

    /** The peer says what it runs again. */
    void again(List<String> keys) {
        AgainKeys known = again;
        if (known == null
                ? !keys.isEmpty()
                : known.keys() != keys && !known.keys().equals(keys)) {
            again = keys.isEmpty() ? null : new AgainKeys(keys, KeySet.of(keys));
        }
    }

    private record AgainKeys(List<String> keys, KeySet set) {}

    /** Whether nothing more is read of it. For the permit's holder. */
    boolean isDone() {
        return swept && recovered && unserved.isEmpty();
    }

    JournalTail requests() {
        return requests;
    }

    /**
     * The peer's requests, from where this worker read them last: found out at the first poll, because until then a link to an earlier
     * life of the peer may have read on.
     */
    JournalTail placedRequests() {
        if (!placed) {
            requestsRead = position.requestsConsumed();
            requestBytesRead = position.requestBytesConsumed();
            if (position.requestsIndex() <= 0) {
                requests.moveToStart();
            } else if (!requests.moveTo(position.requestsIndex(), position.requestsFileSequence())) {
                requests.moveToStart();
                LOG.warn(
                        "LOST_POSITION: the requests of worker {} from position {} on are not there any more; the oldest that"
                                + " are there come next",
                        this,
                        Long.toHexString(position.requestsIndex()));
            }
            placed = true; // last: a fault in another file may end this anywhere
        }
        if (waitsForDisk) {
            requests.readBefore(peerCursors.requestsReadableBefore());
        }
        return requests;
    }

    JournalTail responses() {
        if (waitsForDisk) {
            responses.readBefore(peerCursors.responsesReadableBefore());
        }
        return responses;
    }

    /** The link to the next incarnation reads on from here; what it reads this one must not read too. */
    void responsesEnd(long index) {
        responsesEnd = index;
    }

    /** Whether the response that was read last is another link's to read. */
    boolean isBeyondEnd() {
        return responses.lastIndex() >= responsesEnd;
    }

    /** Counts a request that was read and writes down the place behind it, for the peer and for a restart. */
    void requestRead(int recordBytes) {
        requestsRead++;
        requestsReadHere++;
        requestBytesRead += recordBytes;
        position.requestBytesConsumed(requestBytesRead);
        position.requestsConsumed(requestsRead);
        writePlace();
    }

    /** Writes down the place behind requests for others, now and then. */
    void requestsSkipped() {
        writePlace();
    }

    private void writePlace() {
        long sequence = requests.sequenceOfFirst();
        if (sequence != fileSequence) {
            fileSequence = sequence;
            position.requestsFileSequence(sequence);
        }
        position.requestsIndex(requests.nextIndex());
    }

    void responseRead() {
        position.responsesIndex(responses.nextIndex());
    }

    /** The tensor bytes that the peer leases. */
    PeerSegments segments() {
        return segments;
    }

    /** What the peer has read of this worker; null while it has read nothing. */
    PeerCursorSlot readSlot() {
        return peerCursors.slotFor(ownId).orElse(null);
    }

    /** Counts a record that was not whole. Returns whether it is the first. */
    boolean countDamaged() {
        return damaged++ == 0;
    }

    // ---- what is on its way: under the request lane's lock

    /** Whether a request of this size is within the limits. */
    boolean hasRoom(int bytes, FlowLimits limits) {
        long calls = sentCalls - settledCalls;
        long waiting = sentBytes - settledBytes;
        if (calls >= limits.callsPerPeer() || waiting > 0 && waiting + bytes > limits.bytesPerPeer()) {
            return false;
        }
        // A call that timed out is settled, and its request may still lie unread. The peer's line is looked at only
        // when need be:
        // the peer writes it at every message.
        if (sentCalls - readCallsSeen >= limits.callsPerPeer()) {
            readCallsSeen = readCalls();
        }
        long unread = sentCalls - readCallsSeen;
        return unread < limits.callsPerPeer() || unread <= calls;
    }

    private long readCalls() {
        PeerCursorSlot slot = readByPeer;
        if (slot == null) {
            slot = readSlot();
            if (slot == null) {
                return 0;
            }
            readByPeer = slot; // made after this link, and therefore from 0 on
        }
        long read = slot.requestsConsumed() - readCallsBefore;
        return Math.max(0, Math.min(read, sentCalls)); // a peer's claim
    }

    void sent(int bytes) {
        SENT_CALLS.setRelease(this, sentCalls + 1);
        sentBytes += bytes;
    }

    /** A call has its outcome. Any thread. */
    void settled(int bytes) {
        SETTLED_CALLS.getAndAdd(this, 1L);
        SETTLED_BYTES.getAndAdd(this, (long) bytes);
    }

    /** Whether a response may come: a call is under way. */
    boolean expectsResponses() {
        return sentCalls != settledCalls;
    }

    boolean isSelf() {
        return id == ownId;
    }

    /** Whether all that was sent was answered, and, for the link of a worker to itself, read. */
    boolean isQuiet() {
        long sent = sentCalls;
        return sent == settledCalls && (id != ownId || requests == null || sent == requestsReadHere);
    }

    /** Calls without an outcome, as far as this thread can see. */
    long inFlight() {
        return Math.max(0, sentCalls - settledCalls);
    }

    /** Sees to it that the peer learns of what was written for it. Call after the append. */
    void announce() {
        announcement.announce(this);
    }

    /** Something was written that it is not to be woken for yet. */
    void unannounced() {
        unannounced = true;
    }

    boolean isUnannounced() {
        return unannounced;
    }

    /** Whether it is to be woken now for something. */
    boolean takeUnannounced() {
        boolean was = unannounced;
        if (was) {
            unannounced = false;
        }
        return was;
    }

    /** Wakes the peer when it sleeps. Call when it may read what was written. */
    void ringIfAsleep() {
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
            // the message is in the journal, and a peer without a doorbell looks for itself now and then
            LOG.warn("Worker {} could not be woken", this, e);
        }
    }

    void close() {
        CloseSteps steps = new CloseSteps();
        if (requests != null) {
            steps.attempt(requests::close);
        }
        steps.attempt(responses::close)
                .attempt(segments::close)
                .attempt(doorbell::close)
                .finishUnchecked();
    }

    @Override
    public String toString() {
        return name + " (id " + id + ")";
    }
}
