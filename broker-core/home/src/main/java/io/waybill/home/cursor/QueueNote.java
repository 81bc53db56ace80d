package io.waybill.home.cursor;

import org.agrona.concurrent.UnsafeBuffer;

/**
 * Note of the extent to which one of a worker's own queues is written, updated off the path of a call. It outlives the
 * queue's files: by it the next incarnation of the worker sees that some of them are gone. Layout in {@link Cursors}:
 *
 * <pre>
 *   0  u64  index behind the last record, 0 unknown
 *   8  u64  sequence of the next record
 *  16  u64  number of the oldest file that retention left, and 1 more; 0 unknown
 * </pre>
 *
 * <p><b>Threads.</b> Thread-safe; each field has one writing thread.
 */
public final class QueueNote {
    private static final int END = 0;
    private static final int SEQUENCE = 8;
    private static final int OLDEST = 16;

    private final UnsafeBuffer table;
    private final int offset;

    QueueNote(UnsafeBuffer table, int offset) {
        this.table = table;
        this.offset = offset;
    }

    /** Returns the index behind the last record when it was noted; 0 when unknown. */
    public long endIndex() {
        return table.getLongVolatile(offset + END);
    }

    /** Returns the sequence of the record that comes next at {@link #endIndex}. */
    public long nextSequence() {
        return table.getLongVolatile(offset + SEQUENCE);
    }

    /** Notes the end of the written records. */
    public void written(long endIndex, long nextSequence) {
        table.putLongRelease(offset + SEQUENCE, nextSequence);
        table.putLongRelease(offset + END, endIndex);
    }

    /** Returns the number of the oldest file that retention left; -1 when unknown. */
    public int oldestCycle() {
        return (int) table.getLongVolatile(offset + OLDEST) - 1;
    }

    /** Notes, before files are removed, the file that will be the oldest. */
    public void oldestCycle(int cycle) {
        table.putLongRelease(offset + OLDEST, cycle + 1L);
    }
}
