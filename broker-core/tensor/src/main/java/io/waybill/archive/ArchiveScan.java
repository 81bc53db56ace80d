package io.waybill.archive;

import io.waybill.archive.ArchiveRecord.Kind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Reads the headers of an archive file's records in order, and continues behind damage. Each step moves forward, so
 * that no content of a file can block it.
 *
 * <p><b>Threads.</b> One at a time.
 */
final class ArchiveScan {

    /** Max run of zeros that a search passes: a file may be sparse, and of any size. */
    private static final long MAX_ZEROS = 1L << 30;

    /** Result of a step. */
    enum Step {
        /** Record, in {@link #record}. */
        RECORD,
        /** Damage: there is no record from {@link #damagedFrom} to {@link #position}. */
        DAMAGE,
        /** End of the file's records, at {@link #position}; what follows was never finished. */
        END
    }

    private final FileBytes bytes;
    private int tag;
    private long position;
    private long damagedFrom;
    private ArchiveRecord record;

    /**
     * Starts a scan.
     *
     * @param tag tag of the file; 0 for the tag of the first record
     */
    ArchiveScan(FileBytes bytes, int tag, long from) {
        this.bytes = bytes;
        this.tag = tag;
        this.position = from;
    }

    Step next() throws IOException {
        long size = bytes.size();
        Optional<ArchiveRecord> here = recordAt(position, size);
        if (here.isEmpty()) {
            return search(size);
        }
        if (here.get().kind() == Kind.UNFINISHED) {
            return unfinished(here.get(), size);
        }
        record = here.get();
        position = record.end();
        return Step.RECORD;
    }

    /** Returns the record at the position, without a step; empty when no whole record begins there. */
    Optional<ArchiveRecord> here() throws IOException {
        return recordAt(position, bytes.size());
    }

    /**
     * Returns the step for a record that is being written, or whose writer was killed. Others follow only when its last
     * write was lost.
     */
    private Step unfinished(ArchiveRecord begun, long size) throws IOException {
        boolean isAll = begun.contentBytes() <= size - begun.contentOffset();
        if (!isAll || recordAt(begun.end(), size).isEmpty()) {
            return Step.END;
        }
        damagedFrom = position;
        position = begun.end();
        return Step.DAMAGE;
    }

    /** Returns the record at an offset; empty when there is none, or its content is incomplete. */
    private Optional<ArchiveRecord> recordAt(long offset, long size) throws IOException {
        boolean isInside = offset >= 0 && offset <= size - ArchiveLayout.RECORD_BYTES;
        int at = isInside ? bytes.at(offset, ArchiveLayout.RECORD_BYTES) : -1;
        if (at < 0) {
            return Optional.empty();
        }
        Optional<ArchiveRecord> found = ArchiveRecord.decode(bytes.memory(), at, tag, offset)
                .filter(header ->
                        header.kind() == Kind.UNFINISHED || header.contentBytes() <= size - header.contentOffset());
        if (found.isPresent() && tag == 0) {
            tag = ArchiveRecord.tagAt(bytes.memory(), at);
        }
        return found;
    }

    private Step search(long size) throws IOException {
        damagedFrom = position;
        boolean unfinished = position >= size || isZero(position, size);
        long zeros = 0;
        for (long at = position + ArchiveLayout.ALIGNMENT;
                at <= size - ArchiveLayout.RECORD_BYTES && zeros < MAX_ZEROS;
                at += ArchiveLayout.ALIGNMENT) {
            if (recordAt(at, size).isPresent()) {
                position = at;
                return Step.DAMAGE;
            }
            zeros = isZero(at, size) ? zeros + ArchiveLayout.ALIGNMENT : 0;
        }
        if (unfinished) {
            return Step.END;
        }
        position = ArchiveLayout.align(size);
        return Step.DAMAGE;
    }

    /** Returns whether the file has only zeros where a header would be. */
    private boolean isZero(long offset, long size) throws IOException {
        int length = (int) Math.min(ArchiveLayout.RECORD_BYTES, size - offset);
        int at = bytes.at(offset, length);
        if (at < 0) {
            return false;
        }
        ByteBuffer memory = bytes.memory();
        int i = 0;
        while (i + Long.BYTES <= length && memory.getLong(at + i) == 0) {
            i += Long.BYTES;
        }
        while (i < length && memory.get(at + i) == 0) {
            i++;
        }
        return i == length;
    }

    ArchiveRecord record() {
        return record;
    }

    long damagedFrom() {
        return damagedFrom;
    }

    /** Returns the offset of the next record. */
    long position() {
        return position;
    }

    /** Returns the tag of the file; before a record was found, 0 if it was not known. */
    int tag() {
        return tag;
    }
}
