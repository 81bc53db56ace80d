package io.waybill.journal.read;

import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.Roll;
import java.nio.file.Path;
import net.openhft.chronicle.queue.ExcerptTailer;

/**
 * Position of a tail: at Chronicle's tailer, or further on, in the frames of the tailer's mapping.
 *
 * <p><b>Threads.</b> Belongs to the tail.
 */
final class TailPosition {

    private final Path directory;
    private final Roll roll;
    private final ExcerptTailer tailer;
    private final MappedFrames frames;

    TailPosition(Path directory, Roll roll, ExcerptTailer tailer, MappedFrames frames) {
        this.directory = directory;
        this.roll = roll;
        this.tailer = tailer;
        this.frames = frames;
    }

    /** Returns the index of the next record. */
    long next() {
        return frames.isLeft() ? tailer.index() : frames.index();
    }

    /** Moves the tailer to the position of the frames. Returns whether it is there. */
    boolean tryLeaveFrames() {
        long next = next();
        frames.leave();
        return tailer.index() == next || tryMoveBehind(next - 1);
    }

    /** Moves back to an index, although the tailer may have been left half moved. Returns whether it is there. */
    boolean tryMoveBackTo(long index) {
        frames.leave();
        try {
            boolean there = tailer.moveToIndex(index) || tailer.index() == index;
            MappedFaults.surface();
            return there;
        } catch (InternalError | RuntimeException e) {
            return false;
        }
    }

    /**
     * Moves to an index, whether a record is there or not yet; where none will ever be, to the first record of the next
     * file.
     */
    boolean moveTo(long index) {
        frames.leave();
        return tailer.moveToIndex(index) || moveToFileBehind(index) || tailer.index() == index;
    }

    private boolean moveToFileBehind(long index) {
        int next = Integer.MAX_VALUE;
        for (int cycle : cyclesNewestFirst()) {
            if (cycle > roll.cycleOf(index) && tailer.excerptsInCycle(cycle) >= 0) {
                next = cycle;
            }
        }
        if (next == Integer.MAX_VALUE) {
            return tailer.moveToIndex(index);
        }
        // the former: a record written just before the newer file was begun
        return tailer.moveToIndex(index)
                || tailer.moveToIndex(roll.indexOf(next, 0))
                || tailer.index() == roll.indexOf(next, 0);
    }

    void moveToStart() {
        frames.leave();
        tailer.toStart();
    }

    /** Moves after the last present record, or to the start. */
    void moveToEnd() {
        for (int cycle : cyclesNewestFirst()) {
            long records = tailer.excerptsInCycle(cycle);
            if (records > 0) {
                moveBehind(roll.indexOf(cycle, records - 1));
                return;
            }
            if (records == 0 && moveTo(roll.indexOf(cycle, 0))) {
                return;
            }
        }
        moveToStart();
    }

    /**
     * Moves after a record.
     *
     * @throws IllegalStateException when it is not there; the position stays as it was then
     */
    void moveBehind(long record) {
        long before = next();
        frames.leave();
        if (!tryMoveBehind(record)) {
            tailer.moveToIndex(before);
            throw new IllegalStateException("no record at index " + Long.toHexString(record) + " of " + directory);
        }
    }

    private boolean tryMoveBehind(long record) {
        if (!tailer.moveToIndex(record)) {
            return false;
        }
        tailer.readingDocument().close();
        return true;
    }

    /** Moves to the last record. */
    void moveToLast() {
        for (int cycle : cyclesNewestFirst()) {
            long records = tailer.excerptsInCycle(cycle);
            if (records > 0 && tailer.moveToIndex(roll.indexOf(cycle, records - 1))) {
                break;
            }
        }
    }

    private int[] cyclesNewestFirst() {
        return TailedQueue.cyclesNewestFirst(directory, roll);
    }
}
