package io.waybill.crash.history;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * A record of a journal, by the documented layout. Immutable.
 *
 * @param tensors how many it brings
 * @param epoch requests: low 32 bits of the epoch of the receiver
 * @param handlerSequence responses: how many requests the sender had begun up to this one, 0 when no handler ran
 * @param errorCode of an exception, otherwise 0
 * @param digest CRC-32C of the payload
 * @param callerIncarnation the payload's first 8 bytes: the epoch of the caller, as the callers of a run write it; 0 when it is shorter
 * @param number the next 8: which of that incarnation's calls
 */
record StoredMessage(
        long sequence,
        long id,
        int from,
        int to,
        int type,
        int flags,
        int tensors,
        long deadlineNs,
        long epoch,
        long handlerSequence,
        int errorCode,
        int digest,
        long callerIncarnation,
        long number) {

    static final int HEADER_BYTES = 104;

    private static final int MAGIC = 0x4257;
    private static final int REQUEST = 0x100;
    private static final int RESPONSE = 0x200;
    private static final int EXCEPTION = 0x237;
    private static final int LATER_INCARNATION = 4;

    /**
     * @param document the whole of it, little-endian, from its first byte on
     * @throws IllegalArgumentException when it is no record, with what is wrong
     */
    static StoredMessage parse(ByteBuffer document) {
        int length = document.remaining();
        require(length >= HEADER_BYTES, "of " + length + " bytes is no record");
        require((document.getShort(4) & 0xffff) == MAGIC, "has no magic");
        int found = crc(document, 4, length - 4);
        require(document.getInt(0) == found, "has another checksum than its content");
        require(document.get(6) == 1, "has version " + document.get(6));
        int payload = document.getInt(32);
        int section = document.getInt(36);
        require(payload >= 0 && section >= 0 && payload <= length && section <= length, "has lengths beyond its end");
        int expected = section == 0 ? HEADER_BYTES + payload : (HEADER_BYTES + payload + 7 & ~7) + section;
        require(expected == length, "has lengths that don't add up");
        int type = document.getShort(28) & 0xffff;
        return new StoredMessage(
                document.getLong(8),
                document.getLong(16),
                document.getShort(24) & 0xffff,
                document.getShort(26) & 0xffff,
                type,
                document.get(7) & 0xff,
                document.getShort(30) & 0xffff,
                document.getLong(40),
                document.getInt(100) & 0xffffffffL,
                document.getLong(88),
                type == EXCEPTION ? document.getShort(98) & 0xffff : 0,
                crc(document, HEADER_BYTES, payload),
                payload < 16 ? 0 : document.getLong(HEADER_BYTES),
                payload < 16 ? 0 : document.getLong(HEADER_BYTES + 8));
    }

    private static void require(boolean so, String otherwise) {
        if (!so) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    private static int crc(ByteBuffer document, int from, int length) {
        CRC32C crc = new CRC32C();
        crc.update(document.slice(from, length));
        return (int) crc.getValue();
    }

    boolean isRequest() {
        return (type & REQUEST) != 0;
    }

    boolean isResponse() {
        return (type & RESPONSE) != 0;
    }

    boolean isException() {
        return type == EXCEPTION;
    }

    /** Of a request: whether a later incarnation of its receiver may run it. */
    boolean isForLaterIncarnations() {
        return (flags & LATER_INCARNATION) != 0;
    }

    /** The worker that made the id. */
    int caller() {
        return (int) (id >>> 48);
    }

    @Override
    public String toString() {
        return String.format("record %d, %x, type 0x%x, from %d to %d", sequence, id, type, from, to);
    }
}
