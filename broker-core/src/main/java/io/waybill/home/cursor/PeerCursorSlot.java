package io.waybill.home.cursor;

import io.waybill.home.error.MalformedHomeFileException;
import java.util.function.LongConsumer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What one peer says it has read of this worker. Layout in {@link Cursors}; each value is a claim.
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
    public long requestsFinished() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_FINISHED);
    }

    /** Position in the peer's responses behind which it answered all others; 0 or less: the start. */
    public long responsesFrom() {
        return table.getLongVolatile(offset + CursorLayout.RESPONSES_FROM);
    }

    /** The epoch of the peer that last began to read this worker's queues; 0 for none. */
    public long incarnation() {
        return table.getLongVolatile(offset + CursorLayout.INCARNATION);
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
     * Hands over the ids of the leases that were released since the last look. An id may be any number: who takes it checks that
     * this lease is out, and out to this peer.
     *
     * @param seen what the last call returned; {@link #releasedCount()} as found when this worker started lending
     * @param outstanding how many leases are out to this peer: it can't have released more
     * @return what to pass as {@code seen} the next time
     * @throws MalformedHomeFileException when the peer claims what can't be
     */
    public long takeReleases(long seen, int outstanding, LongConsumer leaseIds) throws MalformedHomeFileException {
        long count = releasedCount();
        if (count == seen) {
            return seen;
        }
        long fresh = count - seen;
        if (fresh < 0 || fresh > Math.min(outstanding, CursorLayout.RING_ENTRIES)) {
            throw new MalformedHomeFileException("a peer claims to have released " + fresh + " loans of worker " + ownId
                    + "; " + outstanding + " are out to it");
        }
        for (long n = seen; n < count; n++) {
            leaseIds.accept(table.getLongVolatile(offset + CursorLayout.ringEntry(n)));
        }
        return count;
    }
}
