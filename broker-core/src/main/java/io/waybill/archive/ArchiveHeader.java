package io.waybill.archive;

import io.waybill.journal.JournalQueue;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * The header of an archive file, as {@link ArchiveLayout} draws it. Immutable.
 *
 * @param tag tells this file from others; never 0
 * @param worker who writes it
 * @param stem the name of the queue's file without its suffix
 */
record ArchiveHeader(int tag, int worker, JournalQueue queue, boolean isRemoved, long madeNs, String stem) {

    private static final int RESERVED_AT = ArchiveLayout.NAME_AT + ArchiveLayout.MAX_NAME;

    void encode(ByteBuffer to) {
        byte[] name = stem.getBytes(StandardCharsets.US_ASCII);
        if (name.length < 1 || name.length > ArchiveLayout.MAX_NAME) {
            throw new IllegalArgumentException(
                    "the name of a queue's file has 1 to " + ArchiveLayout.MAX_NAME + " bytes: " + stem);
        }
        for (int at = 0; at < ArchiveLayout.HEADER_BYTES; at += 8) {
            to.putLong(at, 0);
        }
        to.putLong(ArchiveLayout.MAGIC_AT, ArchiveLayout.MAGIC)
                .putInt(ArchiveLayout.FORMAT_AT, ArchiveLayout.FORMAT)
                .putInt(ArchiveLayout.TAG_AT, tag)
                .putShort(ArchiveLayout.WORKER_AT, (short) worker)
                .put(ArchiveLayout.QUEUE_AT, (byte) queue.ordinal())
                .put(ArchiveLayout.STATE_AT, (byte)
                        (isRemoved ? ArchiveLayout.STATE_REMOVED : ArchiveLayout.STATE_KEPT))
                .putLong(ArchiveLayout.MADE_AT, madeNs)
                .put(ArchiveLayout.NAME_LENGTH_AT, (byte) name.length);
        for (int i = 0; i < name.length; i++) {
            to.put(ArchiveLayout.NAME_AT + i, name[i]);
        }
        to.putInt(ArchiveLayout.CHECKSUM_AT, checksum(to));
    }

    private static int checksum(ByteBuffer header) {
        byte[] checked = new byte[ArchiveLayout.CHECKED_BYTES];
        header.duplicate().clear().get(checked);
        for (int i = 0; i < Integer.BYTES; i++) {
            checked[ArchiveLayout.CHECKSUM_AT + i] = 0;
        }
        CRC32C checksum = new CRC32C();
        checksum.update(checked);
        return (int) checksum.getValue();
    }

    /** Reads a header from the buffer's start, which holds all of it; empty when there is none of this format. */
    static Optional<ArchiveHeader> decode(ByteBuffer from) {
        int queue = from.get(ArchiveLayout.QUEUE_AT);
        int state = from.get(ArchiveLayout.STATE_AT);
        int length = from.get(ArchiveLayout.NAME_LENGTH_AT);
        boolean isHeader = from.getLong(ArchiveLayout.MAGIC_AT) == ArchiveLayout.MAGIC
                && from.getInt(ArchiveLayout.FORMAT_AT) == ArchiveLayout.FORMAT
                && from.getInt(ArchiveLayout.CHECKSUM_AT) == checksum(from)
                && from.getInt(ArchiveLayout.TAG_AT) != 0
                && queue >= 0
                && queue < JournalQueue.values().length
                && (state == ArchiveLayout.STATE_KEPT || state == ArchiveLayout.STATE_REMOVED)
                && length >= 1
                && length <= ArchiveLayout.MAX_NAME
                && from.getLong(RESERVED_AT) == 0
                && from.getLong(RESERVED_AT + Long.BYTES) == 0;
        if (!isHeader) {
            return Optional.empty();
        }
        byte[] name = new byte[length];
        from.duplicate().clear().position(ArchiveLayout.NAME_AT).get(name);
        return Optional.of(new ArchiveHeader(
                from.getInt(ArchiveLayout.TAG_AT),
                Short.toUnsignedInt(from.getShort(ArchiveLayout.WORKER_AT)),
                JournalQueue.values()[queue],
                state == ArchiveLayout.STATE_REMOVED,
                from.getLong(ArchiveLayout.MADE_AT),
                new String(name, StandardCharsets.US_ASCII)));
    }

    ArchiveHeader removed() {
        return new ArchiveHeader(tag, worker, queue, true, madeNs, stem);
    }
}
