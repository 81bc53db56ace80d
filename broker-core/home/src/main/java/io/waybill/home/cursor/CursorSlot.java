package io.waybill.home.cursor;

import org.agrona.concurrent.UnsafeBuffer;

/**
 * Positions up to which this worker has read one peer, as published to that peer. Layout in {@link Cursors}.
 *
 * <p><b>Threads.</b> Each field has one writing thread; {@link #releaseLease} is thread-safe. Reads see the worker's
 * own last write. <b>Memory.</b> Nothing allocates.
 */
public final class CursorSlot {
    private final UnsafeBuffer table;
    private final int slot;
    private final int offset;

    CursorSlot(UnsafeBuffer table, int slot) {
        this.table = table;
        this.slot = slot;
        this.offset = CursorLayout.slotOffset(slot);
    }

    void claim(int peerId, long requestsBegin) {
        table.setMemory(offset + Long.BYTES, CursorLayout.SLOT_BYTES - Long.BYTES, (byte) 0);
        table.putLong(offset + CursorLayout.REQUESTS_INDEX, CursorLayout.UNKNOWN);
        table.putLong(offset + CursorLayout.RESPONSES_INDEX, CursorLayout.UNKNOWN);
        table.putLong(offset + CursorLayout.REQUESTS_COMPLETED_BEFORE, CursorLayout.UNKNOWN);
        table.putLong(offset + CursorLayout.REQUESTS_BEGIN, requestsBegin);
        // the id last: for a reader it shows that the rest is valid
        table.putIntRelease(offset + CursorLayout.PEER_ID, peerId);
        table.putIntRelease(CursorLayout.directoryEntry(slot), peerId);
    }

    void free() {
        table.putIntVolatile(CursorLayout.directoryEntry(slot), CursorLayout.FREE);
        table.putIntVolatile(offset + CursorLayout.PEER_ID, CursorLayout.FREE);
    }

    /**
     * Returns the peer's id; -1 when the slot is free. The slot's page is read only when the directory names a peer.
     */
    public int peerId() {
        int id = table.getIntVolatile(CursorLayout.directoryEntry(slot));
        return id == CursorLayout.FREE || table.getIntVolatile(offset + CursorLayout.PEER_ID) == id
                ? id
                : CursorLayout.FREE; // one of its two pages did not reach the disk
    }

    /** Returns the position in the peer's requests up to which all are read; -1 when unknown. */
    public long requestsIndex() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_INDEX);
    }

    public void requestsIndex(long index) {
        table.putLongRelease(offset + CursorLayout.REQUESTS_INDEX, index);
    }

    /**
     * Returns the sequence of the first record in the file with the position in the peer's requests; -1 when unknown.
     */
    public long requestsFileSequence() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_FILE) - 1;
    }

    /** Sets the sequence at the start of a file; write it before a position in that file. */
    public void requestsFileSequence(long sequence) {
        table.putLongRelease(offset + CursorLayout.REQUESTS_FILE, sequence + 1);
    }

    /** Returns the position in the peer's responses up to which all are read; -1 when unknown. */
    public long responsesIndex() {
        return table.getLongVolatile(offset + CursorLayout.RESPONSES_INDEX);
    }

    public void responsesIndex(long index) {
        table.putLongRelease(offset + CursorLayout.RESPONSES_INDEX, index);
    }

    /** Returns the number of messages for this worker that it consumed from the peer's requests. */
    public long requestsConsumed() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_CONSUMED);
    }

    public void requestsConsumed(long count) {
        table.putLongRelease(offset + CursorLayout.REQUESTS_CONSUMED, count);
    }

    /** Returns the size of the consumed messages in bytes. */
    public long requestBytesConsumed() {
        return table.getLongVolatile(offset + CursorLayout.REQUEST_BYTES_CONSUMED);
    }

    public void requestBytesConsumed(long bytes) {
        table.putLongRelease(offset + CursorLayout.REQUEST_BYTES_CONSUMED, bytes);
    }

    /**
     * Returns the low watermark in the peer's requests: before it, all for this worker are completed; -1 when unknown.
     */
    public long requestsCompletedBefore() {
        return table.getLongVolatile(offset + CursorLayout.REQUESTS_COMPLETED_BEFORE);
    }

    public void requestsCompletedBefore(long index) {
        table.putLongRelease(offset + CursorLayout.REQUESTS_COMPLETED_BEFORE, index);
    }

    /**
     * Returns the position in the worker's own responses after which all responses to requests at or behind the low
     * watermark follow; 0: the start.
     */
    public long responsesFrom() {
        return table.getLongVolatile(offset + CursorLayout.RESPONSES_FROM);
    }

    /** Sets the position of the responses; write it after the low watermark that makes it valid. */
    public void responsesFrom(long index) {
        table.putLongRelease(offset + CursorLayout.RESPONSES_FROM, index);
    }

    /** Sets the incarnation of the worker that reads the peer's queues from now on. */
    public void incarnation(long epoch) {
        table.putLongRelease(offset + CursorLayout.INCARNATION, epoch);
    }

    /**
     * Announces to the peer that a record was written for it. Call after the append, by any thread. No later read of
     * other memory by this thread is executed before it.
     */
    public void announce() {
        table.getAndAddLong(offset + CursorLayout.ANNOUNCED, 1);
    }

    /** Announces as {@link #announce} does that a response was written, and no request. */
    public void announceResponse() {
        table.getAndAddLong(offset + CursorLayout.ANNOUNCED, CursorLayout.ANNOUNCED_RESPONSE);
    }

    /** Returns the number of the peer's leases that were released. */
    public long releasedCount() {
        return table.getLongVolatile(offset + CursorLayout.RELEASED_COUNT);
    }

    /** Releases a region that the peer leased to this worker. */
    public synchronized void releaseLease(long leaseId) {
        long count = releasedCount();
        table.putLong(offset + CursorLayout.ringEntry(count), leaseId);
        // after the id: the count shows the peer that the id is written
        table.putLongRelease(offset + CursorLayout.RELEASED_COUNT, count + 1);
    }
}
