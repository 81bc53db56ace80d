package io.waybill.archive;

import io.waybill.journal.JournalQueue;
import java.nio.file.Path;

/**
 * The layout of an archive file: a header, then records, each at a multiple of 64. All numbers are little-endian, and unsigned unless it
 * says otherwise.
 *
 * <pre>
 * file header, 128 bytes
 * offset size field
 *   0     8   magic           the letters {@code WARCHIVE}
 *   8     4   format          1
 *  12     4   checksum        CRC-32C of the first 96 bytes, these four counted as 0
 *  16     4   tag             a number that tells this file from others; never 0
 *  20     2   worker          id of the worker that writes it
 *  22     1   queue           0: requests, 1: responses
 *  23     1   state           0: kept, 1: all records were removed, to make room for newer ones
 *  24     8   made            wall clock in ns since 1970
 *  32     1   name length     1..47
 *  33    47   name            of the queue's file without its suffix, in ASCII; zeros behind it
 *  80    16   reserved        0
 *  96     8   last index      offset of the newest index record; 0: none. A hint, which no checksum covers
 * 104    24   reserved        0, not covered either
 *
 * record header, 64 bytes
 *   0     4   checksum        CRC-32C of the other 60 bytes
 *   4     4   magic           the letters {@code WREC}
 *   8     4   tag             the file's
 *  12     1   kind            1: storage, 2: session, 3: end, 4: gap, 5: index, 6: unfinished
 *  13     1   code            storage and gap: number of an {@link Omission}, 0 when the bytes follow; session: 0 none, 1 all, 2 up-to
 *  14     1   flags           bit 0: the sender still had the storage when it was copied; other bits 0
 *  15     1   reserved        0
 *  16     8   offset          of this record in the file
 *  24     8   id              storage: of the message; gap: how many storages; session: the worker's epoch;
 *                             index: offset of the index record before, 0 for none
 *  32     8   sequence        storage: of the message in its queue; session: of the first message that it is about; end: of the first
 *                             that it is not about; gap and index: the lowest
 *  40     8   length          storage: its bytes, whether they follow or not; session: the most bytes of a storage that is kept; gap:
 *                             the highest sequence; index: bytes of the entries
 *  48     4   content checksum  CRC-32C of the bytes that follow; 0 when none do
 *  52     2   storage         number of the storage in its message
 *  54     2   reserved        0
 *  56     8   time            wall clock in ns since 1970, when the record was written; index: the highest sequence
 *
 * content     of a storage that is kept, or the entries of an index record; then up to 63 bytes that mean nothing
 *
 * index entry, 32 bytes, for each record that is none of an index and stands behind the index record before
 *   0     8   offset          of the record
 *   8     8   sequence        the record's
 *  16     8   length          the record's
 *  24     4   content checksum  the record's
 *  28     2   storage         the record's
 *  30     1   kind            the record's
 *  31     1   code            the record's
 * </pre>
 *
 * The header of a record is written after its content. Before a content of more than 256 KiB, a header of kind 6 is written in its place,
 * with what is known by then: a file whose writer was killed ends with such a record, with a header of zeros, or with none.
 */
final class ArchiveLayout {

    static final String SUFFIX = ".wba";
    static final String DIRECTORY = "archive";
    static final String QUEUE_SUFFIX = ".cq4";

    /** {@code WARCHIVE} as it reads in a file of little-endian numbers. */
    static final long MAGIC = 0x4556494843524157L;

    static final int FORMAT = 1;

    static final int MAGIC_AT = 0;
    static final int FORMAT_AT = 8;
    static final int CHECKSUM_AT = 12;
    static final int TAG_AT = 16;
    static final int WORKER_AT = 20;
    static final int QUEUE_AT = 22;
    static final int STATE_AT = 23;
    static final int MADE_AT = 24;
    static final int NAME_LENGTH_AT = 32;
    static final int NAME_AT = 33;
    static final int MAX_NAME = 47;
    static final int CHECKED_BYTES = 96;
    static final int LAST_INDEX_AT = 96;
    static final int HEADER_BYTES = 128;

    static final int STATE_KEPT = 0;
    static final int STATE_REMOVED = 1;

    /** {@code WREC} as it reads in a file of little-endian numbers. */
    static final int RECORD_MAGIC = 0x43455257;

    static final int RECORD_BYTES = 64;
    static final int ENTRY_BYTES = 32;
    static final int ALIGNMENT = 64;

    /** So many entries make an index record. */
    static final int MAX_ENTRIES = 512;

    /** And so many when none could be written before. */
    static final int MAX_ENTRIES_READ = 4096;

    /** No archive is larger, and no file that claims to be one is looked at. */
    static final long MAX_FILE_BYTES = 1L << 43;

    private ArchiveLayout() {}

    static long align(long offset) {
        return offset + (ALIGNMENT - 1) & -ALIGNMENT;
    }

    /** Where the archive of a queue lies. */
    static Path directory(Path workerDirectory, JournalQueue queue) {
        return workerDirectory.resolve(DIRECTORY).resolve(queue.directoryName());
    }

    /** The name of the archive file that belongs to a queue's file. */
    static String fileName(String queueFileName) {
        return stem(queueFileName) + SUFFIX;
    }

    /** A queue file's name without its suffix. */
    static String stem(String queueFileName) {
        if (!queueFileName.endsWith(QUEUE_SUFFIX)) {
            throw new IllegalArgumentException("a queue's file ends with " + QUEUE_SUFFIX + ": " + queueFileName);
        }
        return queueFileName.substring(0, queueFileName.length() - QUEUE_SUFFIX.length());
    }
}
