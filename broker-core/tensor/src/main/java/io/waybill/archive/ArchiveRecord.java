package io.waybill.archive;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * Header of one record of an archive file, as {@link ArchiveLayout} draws it. Immutable.
 *
 * @param code number of an {@link Omission}, or of a policy
 * @param flags {@link #SHARED} or 0
 * @param offset position of the record in its file
 * @param checksum checksum of its content
 * @param storage number of the storage in its message
 */
record ArchiveRecord(
        Kind kind,
        int code,
        int flags,
        long offset,
        long id,
        long sequence,
        long length,
        int checksum,
        int storage,
        long timeNs) {

    /** Flag of a storage that the sender still had when it was copied. */
    static final int SHARED = 1;

    private static final int MAGIC_AT = 4;
    private static final int TAG_AT = 8;

    /** Kind of a record. The order is that of the numbers in files, from 1 on. */
    enum Kind {
        STORAGE,
        SESSION,
        END,
        GAP,
        INDEX,
        /** Storage whose bytes are being written. */
        UNFINISHED;

        byte code() {
            return (byte) (ordinal() + 1);
        }

        static Optional<Kind> of(int code) {
            return code >= 1 && code <= values().length ? Optional.of(values()[code - 1]) : Optional.empty();
        }
    }

    /** Returns the number of bytes that follow the header. */
    long contentBytes() {
        return kind == Kind.INDEX || kind == Kind.UNFINISHED || kind == Kind.STORAGE && code == 0 ? length : 0;
    }

    long contentOffset() {
        return offset + ArchiveLayout.RECORD_BYTES;
    }

    /** Returns the offset of the next record. */
    long end() {
        return ArchiveLayout.align(contentOffset() + contentBytes());
    }

    /** Writes the header at the buffer's start. */
    void encode(ByteBuffer to, int tag) {
        to.clear().putInt(0).putInt(ArchiveLayout.RECORD_MAGIC).putInt(tag);
        to.put(kind.code()).put((byte) code).put((byte) flags).put((byte) 0);
        to.putLong(offset).putLong(id).putLong(sequence).putLong(length);
        to.putInt(checksum).putShort((short) storage).putShort((short) 0).putLong(timeNs);
        to.putInt(0, checksum(to, 0));
    }

    private static int checksum(ByteBuffer bytes, int at) {
        CRC32C checksum = new CRC32C();
        checksum.update(bytes.duplicate().clear().position(at + MAGIC_AT).limit(at + ArchiveLayout.RECORD_BYTES));
        return (int) checksum.getValue();
    }

    /**
     * Reads a header.
     *
     * @param at position in the buffer, which holds {@link ArchiveLayout#RECORD_BYTES} from there on
     * @param tag tag of the file; 0 when it is not known
     * @param offset position of the record in its file
     * @return empty when there is none
     */
    static Optional<ArchiveRecord> decode(ByteBuffer from, int at, int tag, long offset) {
        if (from.getInt(at + MAGIC_AT) != ArchiveLayout.RECORD_MAGIC
                || tag != 0 && tagAt(from, at) != tag
                || from.getInt(at) != checksum(from, at)) {
            return Optional.empty();
        }
        ByteBuffer in = from.duplicate().order(from.order()).clear().position(at + TAG_AT + Integer.BYTES);
        Optional<Kind> kind = Kind.of(in.get());
        int code = Byte.toUnsignedInt(in.get());
        int flags = Short.toUnsignedInt(in.getShort()) & 0xff;
        boolean isHere = in.getLong() == offset;
        long id = in.getLong();
        long sequence = in.getLong();
        long length = in.getLong();
        int checksum = in.getInt();
        int storage = in.getInt() & 0xffff;
        return kind.filter(known -> isHere && length >= 0)
                .map(known -> new ArchiveRecord(
                        known, code, flags, offset, id, sequence, length, checksum, storage, in.getLong()));
    }

    /** Returns the tag of a record that was decoded without it. */
    static int tagAt(ByteBuffer from, int at) {
        return from.getInt(at + TAG_AT);
    }

    /** Returns whether the record is about this storage. */
    boolean isOf(long messageSequence, int number) {
        return kind == Kind.STORAGE && sequence == messageSequence && storage == number;
    }
}
