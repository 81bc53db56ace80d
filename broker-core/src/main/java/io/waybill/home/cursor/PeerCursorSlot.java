package io.waybill.home.cursor;

import io.waybill.home.error.MalformedHomeFileException;
import java.util.function.LongConsumer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What one peer claims to have read of this worker. Layout in {@link Cursors}.
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

    /** Whether the peer still keeps this slot for this worker; ask {@link PeerCursors#slotFor} again when not. */
    public boolean isValid() {
        return table.getIntVolatile(offset + CursorLayout.PEER_ID) == ownId;
    }

    /** Position in this worker's requests; -1 when unknown. */
    public long requestsIndex() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_INDEX);
    }

    /** Sequence of the first record in the file in which the position in this worker's requests is; -1 when unknown. */
    public long requestsFileSequence() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_FILE) - 1;
    }

    /** Position in this worker's responses; -1 when unknown. */
    public long responsesIndex() {
        return table.getLongVolatile(offset + CursorLayout.RESPONSES_INDEX);
    }

    /** Position in this worker's requests before which the peer has finished all that were for it; 0 or less when unknown. */
    public long requestsCompletedBefore() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_COMPLETED_BEFORE);
    }

    /**
     * Returns the position in the peer's responses after which all its later responses follow; 0 or less: the start.
     */
    public long responsesFrom() {
        return table.getLongVolatile(offset + CursorLayout.RESPONSES_FROM);
    }

    /** Position in the peer's requests before which none is for this worker; 0 or less: the start. */
    public long requestsBegin() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_BEGIN);
    }

    /** The epoch of the peer that last began to read this worker's queues; 0 for none. */
    public long incarnation() {
        return table.getLongVolatile(offset + CursorLayout.INCARNATION);
    }

    /** Returns how often the peer has announced records for this worker; 0 when it has never done so. */
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
     * @param outstanding how many leases this peer has: it can't have released more
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
