package io.waybill.archive;

import io.waybill.archive.ArchiveRecord.Kind;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The records of an archive file that no index record names yet. For one thread. */
final class IndexEntries {

    private static final int OFFSET_AT = 0;
    private static final int SEQUENCE_AT = 8;
    private static final int LENGTH_AT = 16;
    private static final int CHECKSUM_AT = 24;
    private static final int STORAGE_AT = 28;
    private static final int KIND_AT = 30;
    private static final int CODE_AT = 31;

    private final List<ArchiveRecord> records = new ArrayList<>(ArchiveLayout.MAX_ENTRIES);
    private long previous;

    /** @param previous offset of the last index record; 0 for none */
    IndexEntries(long previous) {
        this.previous = previous;
    }

    void add(ArchiveRecord record) {
        records.add(record);
    }

    boolean isFull() {
        return records.size() >= ArchiveLayout.MAX_ENTRIES;
    }

    boolean isEmpty() {
        return records.isEmpty();
    }

    /** Begins anew behind an index record. */
    void clear(long lastIndex) {
        records.clear();
        previous = lastIndex;
    }

    /** Writes the oldest entries at the buffer's start, as many as an index record has at most, and returns their length. */
    int encode(ByteBuffer to) {
        int at = 0;
        for (ArchiveRecord record : oldest()) {
            to.putLong(at + OFFSET_AT, record.offset())
                    .putLong(at + SEQUENCE_AT, record.sequence())
                    .putLong(at + LENGTH_AT, record.length())
                    .putInt(at + CHECKSUM_AT, record.checksum())
                    .putShort(at + STORAGE_AT, (short) record.storage())
                    .put(at + KIND_AT, (byte) record.kind().code())
                    .put(at + CODE_AT, (byte) record.code());
            at += ArchiveLayout.ENTRY_BYTES;
        }
        return at;
    }

    private List<ArchiveRecord> oldest() {
        return records.subList(0, Math.min(records.size(), ArchiveLayout.MAX_ENTRIES_READ));
    }

    /** Forgets what {@link #encode} wrote: it is in this index record now. */
    void written(long index) {
        oldest().clear();
        previous = index;
    }

    /** The header of the index record that holds them. */
    ArchiveRecord record(long offset, int length, int checksum) {
        long lowest = Long.MAX_VALUE;
        long highest = 0;
        for (ArchiveRecord record : oldest()) {
            lowest = Math.min(lowest, record.sequence());
            highest = Math.max(highest, record.kind() == Kind.GAP ? record.length() : record.sequence());
        }
        return new ArchiveRecord(Kind.INDEX, 0, 0, offset, previous, lowest, length, checksum, 0, highest);
    }

    /** An entry, with what the index does not say as 0; empty when it is none, or not of a record before {@code before}. */
    static Optional<ArchiveRecord> decode(ByteBuffer from, int at, long before) {
        long offset = from.getLong(at + OFFSET_AT);
        long length = from.getLong(at + LENGTH_AT);
        Optional<Kind> kind = Kind.of(from.get(at + KIND_AT));
        if (offset < ArchiveLayout.HEADER_BYTES || offset >= before || length < 0 || kind.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new ArchiveRecord(
                kind.get(),
                Byte.toUnsignedInt(from.get(at + CODE_AT)),
                0,
                offset,
                0,
                from.getLong(at + SEQUENCE_AT),
                length,
                from.getInt(at + CHECKSUM_AT),
                Short.toUnsignedInt(from.getShort(at + STORAGE_AT)),
                0));
    }
}
