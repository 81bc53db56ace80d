package io.waybill.archive;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * The header of one record of an archive file, as {@link ArchiveLayout} draws it. Immutable.
 *
 * @param code an {@link Omission}'s number, or a policy's
 * @param flags {@link #SHARED} or 0
 * @param offset of the record in its file
 * @param checksum of its content
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

    /** The sender still had the storage when it was copied. */
    static final int SHARED = 1;

    private static final int MAGIC_AT = 4;
    private static final int TAG_AT = 8;
    private static final int KIND_AT = 12;
    private static final int CODE_AT = 13;
    private static final int FLAGS_AT = 14;
    private static final int OFFSET_AT = 16;
    private static final int ID_AT = 24;
    private static final int SEQUENCE_AT = 32;
    private static final int LENGTH_AT = 40;
    private static final int CONTENT_CHECKSUM_AT = 48;
    private static final int STORAGE_AT = 52;
    private static final int TIME_AT = 56;

    /** What a record is about. */
    enum Kind {
        STORAGE(1),
        SESSION(2),
        END(3),
        GAP(4),
        INDEX(5),
        /** A storage whose bytes are being written. */
        UNFINISHED(6);

        private final int code;

        Kind(int code) {
            this.code = code;
        }

        int code() {
            return code;
        }

        static Optional<Kind> of(int code) {
            return code >= 1 && code <= values().length ? Optional.of(values()[code - 1]) : Optional.empty();
        }
    }

    /** How many bytes follow the header. */
    long contentBytes() {
        return kind == Kind.INDEX || kind == Kind.UNFINISHED || kind == Kind.STORAGE && code == 0 ? length : 0;
    }

    long contentOffset() {
        return offset + ArchiveLayout.RECORD_BYTES;
    }

    /** Where the next record begins. */
    long end() {
        return ArchiveLayout.align(contentOffset() + contentBytes());
    }

    /** Writes the header at the buffer's start. */
    void encode(ByteBuffer to, int tag) {
        for (int at = 0; at < ArchiveLayout.RECORD_BYTES; at += 8) {
            to.putLong(at, 0);
        }
        to.putInt(MAGIC_AT, ArchiveLayout.RECORD_MAGIC)
                .putInt(TAG_AT, tag)
                .put(KIND_AT, (byte) kind.code())
                .put(CODE_AT, (byte) code)
                .put(FLAGS_AT, (byte) flags)
                .putLong(OFFSET_AT, offset)
                .putLong(ID_AT, id)
                .putLong(SEQUENCE_AT, sequence)
                .putLong(LENGTH_AT, length)
                .putInt(CONTENT_CHECKSUM_AT, checksum)
                .putShort(STORAGE_AT, (short) storage)
                .putLong(TIME_AT, timeNs);
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
     * @param at where in the buffer, which holds {@link ArchiveLayout#RECORD_BYTES} from there on
     * @param tag the file's; 0 when it is not known
     * @param offset of the record in its file
     * @return empty when there is none
     */
    static Optional<ArchiveRecord> decode(ByteBuffer from, int at, int tag, long offset) {
        if (from.getInt(at + MAGIC_AT) != ArchiveLayout.RECORD_MAGIC) {
            return Optional.empty();
        }
        Optional<Kind> kind = Kind.of(from.get(at + KIND_AT));
        boolean isRecord = kind.isPresent()
                && from.getLong(at + OFFSET_AT) == offset
                && (tag == 0 || from.getInt(at + TAG_AT) == tag)
                && from.getLong(at + LENGTH_AT) >= 0
                && from.getInt(at) == checksum(from, at);
        if (!isRecord) {
            return Optional.empty();
        }
        return Optional.of(new ArchiveRecord(
                kind.get(),
                Byte.toUnsignedInt(from.get(at + CODE_AT)),
                from.get(at + FLAGS_AT),
                offset,
                from.getLong(at + ID_AT),
                from.getLong(at + SEQUENCE_AT),
                from.getLong(at + LENGTH_AT),
                from.getInt(at + CONTENT_CHECKSUM_AT),
                Short.toUnsignedInt(from.getShort(at + STORAGE_AT)),
                from.getLong(at + TIME_AT)));
    }

    /** The tag of a record that was decoded without knowing it. */
    static int tagAt(ByteBuffer from, int at) {
        return from.getInt(at + TAG_AT);
    }

    /** Whether it is about this very storage. */
    boolean isOf(long messageSequence, int number) {
        return kind == Kind.STORAGE && sequence == messageSequence && storage == number;
    }
}
