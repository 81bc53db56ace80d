package io.waybill.archive;

import io.waybill.journal.JournalQueue;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * Header of an archive file. Immutable.
 *
 * @param tag number that distinguishes this file from others; never 0
 * @param worker id of the worker that writes it
 * @param stem name of the queue's file without its suffix
 */
record ArchiveHeader(int tag, int worker, JournalQueue queue, boolean isRemoved, long madeNs, String stem) {

    private static final int CHECKSUM_AT = 12;
    private static final int NAME_AT = 33;
    private static final int MAX_NAME = 47;

    void encode(ByteBuffer to) {
        byte[] name = stem.getBytes(StandardCharsets.US_ASCII);
        if (name.length < 1 || name.length > MAX_NAME) {
            throw new IllegalArgumentException("the name of a queue's file has 1 to " + MAX_NAME + " bytes: " + stem);
        }
        to.clear()
                .putLong(ArchiveLayout.MAGIC)
                .putInt(ArchiveLayout.FORMAT)
                .putInt(0)
                .putInt(tag);
        to.putShort((short) worker).put((byte) queue.ordinal()).put((byte) (isRemoved ? 1 : 0));
        to.putLong(madeNs).put((byte) name.length).put(Arrays.copyOf(name, ArchiveLayout.HEADER_BYTES - NAME_AT));
        to.putInt(CHECKSUM_AT, checksum(to));
    }

    private static int checksum(ByteBuffer header) {
        byte[] checked = new byte[ArchiveLayout.CHECKED_BYTES];
        header.duplicate().clear().get(checked);
        Arrays.fill(checked, CHECKSUM_AT, CHECKSUM_AT + Integer.BYTES, (byte) 0);
        CRC32C checksum = new CRC32C();
        checksum.update(checked);
        return (int) checksum.getValue();
    }

    /** Reads a header from the start of a buffer that holds all of it; empty when there is none of this format. */
    static Optional<ArchiveHeader> decode(ByteBuffer from) {
        ByteBuffer in = from.duplicate().order(from.order()).clear();
        boolean isHeader = in.getLong() == ArchiveLayout.MAGIC
                && in.getInt() == ArchiveLayout.FORMAT
                && in.getInt() == checksum(from);
        int tag = in.getInt();
        int worker = Short.toUnsignedInt(in.getShort());
        int queue = in.get();
        int state = in.get();
        long madeNs = in.getLong();
        int length = in.get();
        boolean isValid = isHeader
                && tag != 0
                && queue >= 0
                && queue < JournalQueue.values().length
                && (state == 0 || state == 1)
                && length >= 1
                && length <= MAX_NAME
                && in.getLong(NAME_AT + MAX_NAME) == 0
                && in.getLong(NAME_AT + MAX_NAME + Long.BYTES) == 0;
        if (!isValid) {
            return Optional.empty();
        }
        byte[] name = new byte[length];
        in.get(name);
        String stem = new String(name, StandardCharsets.US_ASCII);
        return Optional.of(new ArchiveHeader(tag, worker, JournalQueue.values()[queue], state == 1, madeNs, stem));
    }

    ArchiveHeader removed() {
        return new ArchiveHeader(tag, worker, queue, true, madeNs, stem);
    }
}
