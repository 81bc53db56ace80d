package io.waybill.archive;

import io.waybill.archive.ArchiveRecord.Kind;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Records of an archive file that no index record names yet. For one thread. */
final class IndexEntries {

    private final List<ArchiveRecord> records = new ArrayList<>(ArchiveLayout.MAX_ENTRIES);
    private long previous;

    /**
     * Creates an empty list.
     *
     * @param previous offset of the last index record; 0 for none
     */
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

    /** Discards the entries, to start from scratch behind an index record. */
    void clear(long lastIndex) {
        records.clear();
        previous = lastIndex;
    }

    /**
     * Writes the oldest entries at the buffer's start, up to the max number of an index record. Returns their length.
     */
    int encode(ByteBuffer to) {
        to.clear();
        for (ArchiveRecord record : oldest()) {
            to.putLong(record.offset()).putLong(record.sequence()).putLong(record.length());
            to.putInt(record.checksum()).putShort((short) record.storage());
            to.put(record.kind().code()).put((byte) record.code());
        }
        return to.position();
    }

    private List<ArchiveRecord> oldest() {
        return records.subList(0, Math.min(records.size(), ArchiveLayout.MAX_LATE_ENTRIES));
    }

    /** Removes the entries that {@link #encode} wrote: they are in this index record now. */
    void written(long index) {
        oldest().clear();
        previous = index;
    }

    /** Returns the header of the index record that holds the entries. */
    ArchiveRecord record(long offset, int length, int checksum) {
        long lowest = Long.MAX_VALUE;
        long highest = 0;
        for (ArchiveRecord record : oldest()) {
            lowest = Math.min(lowest, record.sequence());
            highest = Math.max(highest, record.kind() == Kind.GAP ? record.length() : record.sequence());
        }
        return new ArchiveRecord(Kind.INDEX, 0, 0, offset, previous, lowest, length, checksum, 0, highest);
    }

    /**
     * Decodes the next entry, with 0 for the fields that the index lacks; empty when it is none, or not of a record
     * before {@code before}.
     */
    static Optional<ArchiveRecord> decode(ByteBuffer from, long before) {
        long offset = from.getLong();
        long sequence = from.getLong();
        long length = from.getLong();
        int checksum = from.getInt();
        int storage = Short.toUnsignedInt(from.getShort());
        Optional<Kind> kind = Kind.of(from.get());
        int code = Byte.toUnsignedInt(from.get());
        return kind.filter(known -> offset >= ArchiveLayout.HEADER_BYTES && offset < before && length >= 0)
                .map(known -> new ArchiveRecord(known, code, 0, offset, 0, sequence, length, checksum, storage, 0));
    }
}
