package io.waybill.home.cursor;

import io.waybill.home.error.MalformedHomeFileException;
import java.util.function.LongConsumer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Positions up to which one peer claims to have read this worker. Layout in {@link Cursors}.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Memory.</b> Nothing allocates.
 */
public final class PeerCursorSlot {
    private final UnsafeBuffer table;
    private final int offset;
    private final int ownId;

    PeerCursorSlot(UnsafeBuffer table, int offset, int ownId) {
        this.table = table;
        this.offset = offset;
        this.ownId = ownId;
    }

    /**
     * Returns whether the peer still keeps this slot for this worker; if not, call {@link PeerCursors#slotFor} again.
     */
    public boolean isValid() {
        return table.getIntVolatile(offset + CursorLayout.PEER_ID) == ownId;
    }

    /** Returns the position in this worker's requests; -1 when unknown. */
    public long requestsIndex() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_INDEX);
    }

    /**
     * Returns the sequence of the first record in the file with the position in this worker's requests; -1 when
     * unknown.
     */
    public long requestsFileSequence() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_FILE) - 1;
    }

    /** Returns the position in this worker's responses; -1 when unknown. */
    public long responsesIndex() {
        return table.getLongVolatile(offset + CursorLayout.RESPONSES_INDEX);
    }

    /**
     * Returns the position in this worker's requests before which the peer has completed all that were for it; 0 or
     * less when unknown.
     */
    public long requestsCompletedBefore() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_COMPLETED_BEFORE);
    }

    /**
     * Returns the position in the peer's responses after which all its later responses follow; 0 or less: the start.
     */
    public long responsesFrom() {
        return table.getLongVolatile(offset + CursorLayout.RESPONSES_FROM);
    }

    /** Returns the position in the peer's requests before which none is for this worker; 0 or less: the start. */
    public long requestsBegin() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_BEGIN);
    }

    /** Returns the epoch of the peer that last began to read this worker's queues; 0 for none. */
    public long incarnation() {
        return table.getLongVolatile(offset + CursorLayout.INCARNATION);
    }

    /**
     * Returns the number of the peer's announcements of records for this worker, in the high 32 bits those of responses
     * alone; 0 when it has never made one.
     */
    public long announced() {
        return table.getLongVolatile(offset + CursorLayout.ANNOUNCED);
    }

    public long requestsConsumed() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_CONSUMED);
    }

    public long requestBytesConsumed() {
        return table.getLongVolatile(offset + CursorLayout.REQUEST_BYTES_CONSUMED);
    }

    public long releasedCount() {
        return table.getLongVolatile(offset + CursorLayout.RELEASED_COUNT);
    }

    /**
     * Passes on the ids of the leases that were released since the last call. An id may be any number: the receiver
     * checks that this peer has this lease.
     *
     * @param seen the result of the last call; {@link #releasedCount()} when this worker began to lease
     * @param outstanding number of leases of this peer: it can't have released more
     * @return the value of {@code seen} for the next call
     * @throws MalformedHomeFileException when the claim is impossible
     */
    public long takeReleases(long seen, int outstanding, LongConsumer leaseIds) throws MalformedHomeFileException {
        long count = releasedCount();
        if (count == seen) {
            return seen;
        }
        long fresh = count - seen;
        if (fresh < 0 || fresh > Math.min(outstanding, CursorLayout.RING_ENTRIES)) {
            throw new MalformedHomeFileException("a peer claims to have released " + fresh + " leases of worker "
                    + ownId + "; " + outstanding + " are out to it");
        }
        for (long n = seen; n < count; n++) {
            leaseIds.accept(table.getLongVolatile(offset + CursorLayout.ringEntry(n)));
        }
        return count;
    }
}
