package io.waybill.journal.read;

import io.waybill.journal.Roll;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import net.openhft.chronicle.queue.ExcerptTailer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * File that a tail reads, and number of the records that it lost because their files were removed before it read them.
 *
 * <p><b>Threads.</b> Belongs to the tail.
 */
final class TailProgress {

    private static final Logger LOG = LoggerFactory.getLogger(TailProgress.class);
    private static final int NO_CYCLE = -1;

    private final Path directory;
    private final Roll roll;
    private int cycle = NO_CYCLE; // number of the file that was read last
    private long fileFrom; // range of the indexes in that file
    private long fileTo;
    private long sequenceOfFirst; // sequence of the first record of that file
    private long lost;
    private long bytes; // min size of the file; the max value when unknown

    TailProgress(Path directory, Roll roll) {
        this.directory = directory;
        this.roll = roll;
    }

    /** Returns whether a record is in another file than the previous one. */
    boolean isOtherFile(long index) {
        return index < fileFrom || index >= fileTo;
    }

    /**
     * Returns whether a record ends within its file, which costs a system call if the file has grown since the last
     * one. Touches no mapping.
     */
    boolean isInside(long index, long end, ExcerptTailer tailer) {
        if (end > bytes || isOtherFile(index)) {
            bytes = sizeOf(tailer.currentFile());
        }
        return end <= bytes;
    }

    private static long sizeOf(File file) {
        try {
            long size = file == null ? 0 : TailedQueue.sizeOf(file.toPath());
            return size == 0 ? Long.MAX_VALUE : size; // it was removed, and its mapping is still there
        } catch (IOException e) {
            return Long.MAX_VALUE; // the housekeeper detects the problem
        }
    }

    /** Returns the size of the file at the last check, in bytes. */
    long fileBytes() {
        return bytes;
    }

    /**
     * Notes that the first record in another file was read. If its sequence does not follow that of the last record of
     * the previous file, the owner has removed the records in between.
     */
    void enter(long index, long lastRead, long sequence) {
        long expected = sequenceOfFirst + roll.sequenceInFile(lastRead + 1);
        if (cycle != NO_CYCLE && roll.cycleOf(index) > cycle && sequence > expected) {
            LOG.warn(
                    "LOST_POSITION: {}: records {} to {} were removed before they were read",
                    directory,
                    expected,
                    sequence - 1);
            lost += sequence - expected;
        }
        cycle = roll.cycleOf(index);
        fileFrom = roll.indexOf(cycle, 0);
        fileTo = roll.indexOf(cycle + 1, 0);
        sequenceOfFirst = sequence - roll.sequenceInFile(index);
    }

    /** Notes that the tail was moved: the records that it passed are not lost. */
    void moved() {
        cycle = NO_CYCLE;
        fileTo = 0;
    }

    /** Notes that the tail was moved into a file whose first record has this sequence. */
    void movedTo(long nextIndex, long sequenceOfFirstInFile) {
        sequenceOfFirst = sequenceOfFirstInFile;
        cycle = roll.cycleOf(nextIndex);
    }

    /** Returns the sequence of the first record in the file of an index; -1 when unknown. */
    long sequenceOfFirst(long index) {
        return cycle != NO_CYCLE && roll.cycleOf(index) == cycle ? sequenceOfFirst : -1;
    }

    long lost() {
        return lost;
    }
}
