package io.waybill.archive;

import io.waybill.archive.ArchiveRecord.Kind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Reads the headers of an archive file's records in their order, and finds its way again behind damage. Each step goes forward, so that
 * nothing in a file can keep it.
 *
 * <p><b>Threads.</b> One at a time.
 */
final class ArchiveScan {

    /** A run of zeros this long ends a search: a file may be sparse, and of any size. */
    private static final long MAX_ZEROS = 1L << 30;

    /** Result of a step. */
    enum Step {
        /** {@link #record} is it. */
        RECORD,
        /** Damage: there is no record from {@link #damagedFrom} to {@link #position}. */
        DAMAGE,
        /** The file ends at {@link #position}; what comes behind was never finished. */
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
     * @param tag the file's; 0 to take that of the first record
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

    /** The record at the position, without going on; empty when none that is whole begins there. */
    Optional<ArchiveRecord> here() throws IOException {
        return recordAt(position, bytes.size());
    }

    /** The last record is being written, or its writer was killed. Others stand behind only when its last write was lost. */
    private Step unfinished(ArchiveRecord begun, long size) throws IOException {
        boolean isAll = begun.contentBytes() <= size - begun.contentOffset();
        if (!isAll || recordAt(begun.end(), size).isEmpty()) {
            return Step.END;
        }
        damagedFrom = position;
        position = begun.end();
        return Step.DAMAGE;
    }

    /** Empty when there is none, or its content is not all there. */
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

    /** Whether the file has nothing but zeros where a header would be. */
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

    /** Returns where the next record begins. */
    long position() {
        return position;
    }

    /** The tag of the file, once a record was found; 0 before, when it was not known. */
    int tag() {
        return tag;
    }
}
