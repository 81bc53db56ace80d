package io.waybill.worker.peer;

import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.read.JournalTail;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the two queues of one incarnation of a peer, and writes the positions after the records that were read to this
 * worker's own cursors.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}; {@link #cut},
 * {@link #isCutNow} and {@link #position} by any thread.
 */
public final class PeerReader {

    private static final Logger LOG = LoggerFactory.getLogger(PeerReader.class);
    private static final long NOT_WRITTEN = -2;

    private final String peer; // for messages
    private final int ownId;
    private final CursorSlot position;
    private final PeerCursors peerCursors;
    private final boolean waitsForDisk;
    private final JournalTail requests; // null when this worker does not serve
    private final JournalTail responses;
    // Written by the thread that created the link to the next incarnation, read by the permit's holder.
    private volatile long responsesEnd = Long.MAX_VALUE;
    private boolean positioned;
    private boolean positionLost;
    private long fileSequence = NOT_WRITTEN;
    private long requestsRead;
    private long requestsReadHere;
    private long requestBytesRead;
    private long damaged;
    private boolean isResponsePositionDue;
    private PeerCursorSlot announcements; // null until the peer has a slot for this worker
    // Number of announcements of the peer: at this poll, and when this worker began to read a queue to its end.
    private long announced;
    private long requestsReadAt;
    private long responsesReadAt;

    /**
     * Tails of the peer's two queues.
     *
     * @param requests null when this worker does not serve
     */
    record Tails(JournalTail requests, JournalTail responses) {}

    /** @param tails owned by this object from now on */
    PeerReader(String peer, int ownId, CursorSlot position, PeerCursors peerCursors, Tails tails) {
        this.peer = peer;
        this.ownId = ownId;
        this.position = position;
        this.peerCursors = peerCursors;
        this.waitsForDisk = peerCursors.readersWait(); // the position when the peer's incarnation began
        this.requests = tails.requests();
        this.responses = tails.responses();
    }

    int ownId() {
        return ownId;
    }

    PeerCursors peerCursors() {
        return peerCursors;
    }

    /** Returns this worker's own cursor for the peer, which the peer and a later incarnation of this worker read. */
    public CursorSlot position() {
        return position;
    }

    /** Returns whether this worker serves, and so reads the peer's requests. */
    public boolean readsRequests() {
        return requests != null;
    }

    /** Returns the directory of the peer's requests. */
    public Path requestsDirectory() {
        return requests.directory();
    }

    /** Returns whether there may be requests for this worker: the peer has taken a slot in its cursors for it. */
    public boolean isAddressed() {
        return positioned
                || position.requestsIndex() > 0
                || peerCursors.slotFor(ownId).isPresent();
    }

    /**
     * Returns the tail of the peer's requests, after the last one that this worker has read. It is positioned at the
     * first call, because until then the link to an earlier incarnation of the peer may still read.
     */
    public JournalTail requests() {
        if (!positioned) {
            requestsRead = position.requestsConsumed();
            requestBytesRead = position.requestBytesConsumed();
            if (position.requestsIndex() <= 0) {
                moveToBegin();
            } else if (!requests.moveTo(position.requestsIndex(), position.requestsFileSequence())) {
                requests.moveToStart();
                positionLost = true;
                LOG.warn(
                        "LOST_POSITION: the requests of worker {} from position {} on are not there any more; the oldest that"
                                + " are there come next",
                        peer,
                        Long.toHexString(position.requestsIndex()));
            }
            positioned = true; // last: a fault in another file may surface in any of these calls
        }
        if (waitsForDisk) {
            requests.readBefore(peerCursors.requestsReadableBefore());
        }
        return requests;
    }

    /** Returns whether requests are read again that this worker may have read before. */
    public boolean hasLostPosition() {
        return positionLost;
    }

    private void moveToBegin() {
        long begin =
                peerCursors.slotFor(ownId).map(PeerCursorSlot::requestsBegin).orElse(0L);
        if (begin <= 0 || !requests.moveTo(begin)) {
            requests.moveToStart();
        }
    }

    // ---- what the peer has announced

    /** Reads the number of announcements of the peer, before a poll of its queues. */
    public void lookAtAnnouncements() {
        PeerCursorSlot slot = announcements;
        announced = slot == null ? 0 : slot.announced();
    }

    /**
     * Makes the next poll read the peer's queues where that is {@linkplain JournalTail#isInPlace one read of memory},
     * independently of announcements.
     */
    public void ignoreAnnouncements() {
        announced = 0;
    }

    /**
     * Searches for the slot in which the peer announces, and makes the next poll read the peer's queues in any case.
     */
    public void findAnnouncements() {
        PeerCursorSlot slot = announcements;
        if (slot == null || !slot.isValid()) {
            announcements = peerCursors.slotFor(ownId).orElse(null);
        }
        lookAtAnnouncements();
        requestsReadAt = ~announced;
        responsesReadAt = ~announced;
    }

    /**
     * Returns whether the peer may have written requests that were not read; true for a peer that announces nothing.
     */
    public boolean mayHaveRequests() {
        if (announced == 0 && requests.isInPlace()) {
            return requests.mayHaveNext();
        }
        if (announced == 0) {
            lookAtAnnouncements();
        }
        return announced == 0 || (int) announced != (int) requestsReadAt;
    }

    /**
     * Returns whether the peer may have written responses that were not read; true for a peer that announces nothing.
     */
    public boolean mayHaveResponses() {
        return announced == 0 ? responses.mayHaveNext() : announced != responsesReadAt;
    }

    /** Notes that all requests are read that were announced at the last check. */
    public void requestsReadToEnd() {
        requestsReadAt = announced;
    }

    /** Notes that all responses are read that were announced at the last check. */
    public void responsesReadToEnd() {
        responsesReadAt = announced;
    }

    // ---- positions

    /** Returns the tail of the peer's responses. */
    public JournalTail responses() {
        if (waitsForDisk) {
            responses.readBefore(peerCursors.responsesReadableBefore());
        }
        return responses;
    }

    /**
     * Sets the position from which the link to the next incarnation reads the responses; this reader must not read
     * them.
     */
    void responsesEnd(long index) {
        responsesEnd = index;
    }

    /** Returns whether the response that was read last is for the link to the next incarnation. */
    public boolean isBeyondEnd() {
        return responses.lastIndex() >= responsesEnd;
    }

    /**
     * Counts a request that was read and writes the position after it, for the peer and for a restart.
     *
     * @param fromEarlier whether an earlier incarnation of this worker sent it to itself
     */
    public void requestRead(int recordBytes, boolean fromEarlier) {
        requestsRead++;
        requestsReadHere += fromEarlier ? 0 : 1;
        requestBytesRead += recordBytes;
        position.requestBytesConsumed(requestBytesRead);
        position.requestsConsumed(requestsRead);
        writePosition();
    }

    /** Writes the position after requests that were for other workers. */
    public void requestsSkipped() {
        writePosition();
    }

    private void writePosition() {
        long sequence = requests.sequenceOfFirst();
        if (sequence != fileSequence) {
            fileSequence = sequence;
            position.requestsFileSequence(sequence);
        }
        position.requestsIndex(requests.nextIndex());
    }

    /** Marks the response that was read last, whose outcome is about to be delivered. */
    public void responseRead() {
        isResponsePositionDue = true;
    }

    /**
     * Writes the position after the delivered responses, unless it is written already. A later incarnation of this
     * worker can claim the responses after it.
     */
    public void writeResponsesPosition() {
        if (isResponsePositionDue) {
            position.responsesIndex(responses.nextIndex());
            isResponsePositionDue = false;
        }
    }

    /**
     * Returns the number of requests that this link has read, without requests of an earlier incarnation of this worker
     * to itself.
     */
    long requestsReadHere() {
        return requestsReadHere;
    }

    /** Counts a damaged record. Returns whether it is the first. */
    boolean countDamaged() {
        return damaged++ == 0;
    }

    /**
     * Returns whether a queue file is shorter than its mapping, which causes no fault while only the end of its last
     * page is read.
     */
    boolean isCutNow() {
        return responses.isCutNow() || requests != null && requests.isCutNow();
    }

    /** Checks whether a queue file was truncated since it was mapped. Returns the problem; empty when there is none. */
    String cut() {
        String cut = responses.cut();
        return cut.isEmpty() && requests != null ? requests.cut() : cut;
    }

    void close() {
        CloseSteps steps = new CloseSteps();
        if (requests != null) {
            steps.attempt(requests::close);
        }
        steps.attempt(responses::close).finishUnchecked();
    }
}
