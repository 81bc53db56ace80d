package io.waybill.journal.read;

import io.waybill.journal.Roll;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import net.openhft.chronicle.queue.ExcerptTailer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file that a tail reads, and how many records it lost because their files were removed before it read them.
 *
 * <p><b>Threads.</b> Belongs to the tail.
 */
final class TailProgress {

    private static final Logger LOG = LoggerFactory.getLogger(TailProgress.class);
    private static final int NO_CYCLE = -1;

    private final Path directory;
    private final Roll roll;
    private int cycle = NO_CYCLE; // of the file that was read last
    private long fileFrom; // indexes in that file
    private long fileTo;
    private long sequenceOfFirst; // of that file
    private long lost;
    private long bytes; // of the file, at least; the max value when unknown

    TailProgress(Path directory, Roll roll) {
        this.directory = directory;
        this.roll = roll;
    }

    /** Whether a record is in another file than the one before. */
    boolean isOtherFile(long index) {
        return index < fileFrom || index >= fileTo;
    }

    /** Whether a record ends within its file, which costs a system call where the file has grown since the last one. Touches no mapping. */
    boolean isInside(long index, long end, ExcerptTailer tailer) {
        if (end > bytes || isOtherFile(index)) {
            bytes = sizeOf(tailer.currentFile());
        }
        return end <= bytes;
    }

    private static long sizeOf(File file) {
        try {
            long size = file == null ? 0 : TailedQueue.sizeOf(file.toPath());
            return size == 0 ? Long.MAX_VALUE : size; // it was removed, and what is mapped is still there
        } catch (IOException e) {
            return Long.MAX_VALUE; // the housekeeper finds out what is wrong with it
        }
    }

    /** The size of the file at the last check, in bytes. */
    long fileBytes() {
        return bytes;
    }

    /**
     * The first record in another file was read. Where its sequence does not follow on the last record of the file before, the owner has
     * removed what lay between.
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

    /** The tail was moved: what it passed over is not lost. */
    void moved() {
        cycle = NO_CYCLE;
        fileTo = 0;
    }

    /** The tail was moved into a file whose first record has this sequence. */
    void movedTo(long nextIndex, long sequenceOfFirstInFile) {
        sequenceOfFirst = sequenceOfFirstInFile;
        cycle = roll.cycleOf(nextIndex);
    }

    /** Sequence of the first record in the file of an index; -1 when unknown. */
    long sequenceOfFirst(long index) {
        return cycle != NO_CYCLE && roll.cycleOf(index) == cycle ? sequenceOfFirst : -1;
    }

    long lost() {
        return lost;
    }
}
