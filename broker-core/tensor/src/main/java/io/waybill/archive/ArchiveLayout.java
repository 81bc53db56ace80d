package io.waybill.archive;

import io.waybill.journal.JournalQueue;
import java.nio.file.Path;

/**
 * Sizes and names of archive files, whose bytes {@code docs/reference/archive.md} describes. The header of a record is
 * written after its content; before a content of more than 256 KiB, a header of {@link ArchiveRecord.Kind#UNFINISHED}
 * is written in its place. Stateless.
 */
final class ArchiveLayout {

    static final String SUFFIX = ".wba";
    static final String DIRECTORY = "archive";
    static final String QUEUE_SUFFIX = ".cq4";

    /** Magic number of a file: {@code WARCHIVE} as it reads in a file of little-endian numbers. */
    static final long MAGIC = 0x4556494843524157L;

    static final int FORMAT = 1;

    /** Length of the part of a file's header that is checksummed. */
    static final int CHECKED_BYTES = 96;

    static final int LAST_INDEX_AT = 96;
    static final int HEADER_BYTES = 128;

    /** Magic number of a record: {@code WREC} as it reads in a file of little-endian numbers. */
    static final int RECORD_MAGIC = 0x43455257;

    static final int RECORD_BYTES = 64;
    static final int ENTRY_BYTES = 32;
    static final int ALIGNMENT = 64;

    /** Number of entries of an index record. */
    static final int MAX_ENTRIES = 512;

    /** Max entries of an index record after earlier ones could not be written. */
    static final int MAX_LATE_ENTRIES = 4096;

    /** Max size of an archive; larger files are not read. */
    static final long MAX_FILE_BYTES = 1L << 43;

    private ArchiveLayout() {}

    static long align(long offset) {
        return offset + (ALIGNMENT - 1) & -ALIGNMENT;
    }

    /** Returns the directory of a queue's archive. */
    static Path directory(Path workerDirectory, JournalQueue queue) {
        return workerDirectory.resolve(DIRECTORY).resolve(queue.directoryName());
    }

    /** Returns the name of the archive file that belongs to a queue's file. */
    static String fileName(String queueFileName) {
        return stem(queueFileName) + SUFFIX;
    }

    /** Returns a queue file's name without its suffix. */
    static String stem(String queueFileName) {
        if (!queueFileName.endsWith(QUEUE_SUFFIX)) {
            throw new IllegalArgumentException("a queue's file ends with " + QUEUE_SUFFIX + ": " + queueFileName);
        }
        return queueFileName.substring(0, queueFileName.length() - QUEUE_SUFFIX.length());
    }
}
