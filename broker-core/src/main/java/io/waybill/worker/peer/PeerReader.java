package io.waybill.worker.peer;

import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.read.JournalTail;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the two queues of one incarnation of a peer, and writes the positions behind what was read into this worker's own cursors.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}; {@link #cut}, {@link #isCutNow} and {@link #position} by any thread.
 */
public final class PeerReader {

    private static final Logger LOG = LoggerFactory.getLogger(PeerReader.class);
    private static final long NOT_WRITTEN = -2;

    private final String peer; // for messages
    private final CursorSlot position;
    private final PeerCursors peerCursors;
    private final boolean waitsForDisk;
    private final JournalTail requests; // null when this worker does not serve
    private final JournalTail responses;
    // Written by the thread that made the link to the next incarnation, read by the permit's holder.
    private volatile long responsesEnd = Long.MAX_VALUE;
    private boolean positioned;
    private long fileSequence = NOT_WRITTEN;
    private long requestsRead;
    private long requestsReadHere;
    private long requestBytesRead;
    private long damaged;
    private boolean isResponsePositionDue;

    /** @param requests null when this worker does not serve */
    PeerReader(String peer, CursorSlot position, PeerCursors peerCursors, JournalTail requests, JournalTail responses) {
        this.peer = peer;
        this.position = position;
        this.peerCursors = peerCursors;
        this.waitsForDisk = peerCursors.readersWait(); // as it was when the peer's incarnation began
        this.requests = requests;
        this.responses = responses;
    }

    /** This worker's own cursors for the peer: what it tells the peer, and a later incarnation of its own. */
    public CursorSlot position() {
        return position;
    }

    /** Whether this worker serves, and so reads the peer's requests. */
    public boolean readsRequests() {
        return requests != null;
    }

    /** The directory of the peer's requests. */
    public Path requestsDirectory() {
        return requests.directory();
    }

    /**
     * The peer's requests, positioned behind the last one that this worker has read. They are positioned at the first call, because until
     * then the link to an earlier incarnation of the peer may read on.
     */
    public JournalTail requests() {
        if (!positioned) {
            requestsRead = position.requestsConsumed();
            requestBytesRead = position.requestBytesConsumed();
            if (position.requestsIndex() <= 0) {
                requests.moveToStart();
            } else if (!requests.moveTo(position.requestsIndex(), position.requestsFileSequence())) {
                requests.moveToStart();
                LOG.warn(
                        "LOST_POSITION: the requests of worker {} from position {} on are not there any more; the oldest that"
                                + " are there come next",
                        peer,
                        Long.toHexString(position.requestsIndex()));
            }
            positioned = true; // last: a fault in another file may end this anywhere
        }
        if (waitsForDisk) {
            requests.readBefore(peerCursors.requestsReadableBefore());
        }
        return requests;
    }

    /** The peer's responses. */
    public JournalTail responses() {
        if (waitsForDisk) {
            responses.readBefore(peerCursors.responsesReadableBefore());
        }
        return responses;
    }

    /** Sets the position from which the link to the next incarnation reads the responses; this one must not read them. */
    void responsesEnd(long index) {
        responsesEnd = index;
    }

    /** Whether the response that was read last is for the link to the next incarnation. */
    public boolean isBeyondEnd() {
        return responses.lastIndex() >= responsesEnd;
    }

    /** Counts a request that was read and writes the position behind it, for the peer and for a restart. */
    public void requestRead(int recordBytes) {
        requestsRead++;
        requestsReadHere++;
        requestBytesRead += recordBytes;
        position.requestBytesConsumed(requestBytesRead);
        position.requestsConsumed(requestsRead);
        writePosition();
    }

    /** Writes the position behind requests that were for other workers. */
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
     * Writes the position behind the responses that were read, when it is not written yet: their outcomes are delivered. A later incarnation of
     * this worker can claim those that are behind the position.
     */
    public void writeResponsesPosition() {
        if (isResponsePositionDue) {
            position.responsesIndex(responses.nextIndex());
            isResponsePositionDue = false;
        }
    }

    /** How many requests this link has read. */
    long requestsReadHere() {
        return requestsReadHere;
    }

    /** Counts a record that was not whole. Returns whether it is the first. */
    boolean countDamaged() {
        return damaged++ == 0;
    }

    /** Whether a queue file is shorter than what is mapped of it, which causes no fault while only the end of its last page is read. */
    boolean isCutNow() {
        return responses.isCutNow() || requests != null && requests.isCutNow();
    }

    /** Checks whether a queue file was cut since it was mapped. Returns what is wrong; empty when nothing is. */
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
