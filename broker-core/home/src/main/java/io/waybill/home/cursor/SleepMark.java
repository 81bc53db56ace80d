package io.waybill.home.cursor;

import java.lang.invoke.VarHandle;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Mark that shows a worker's peers whether it waits at its doorbell. The protocol is that of
 * {@link io.waybill.home.Doorbell}: the waiting thread polls once more after its mark, and the sender reads the mark
 * after its record, each with a full fence in between.
 *
 * <p><b>Threads.</b> The marks belong to the thread that waits, in the process that owns the table; any thread may read
 * them. <b>Memory.</b> Nothing allocates.
 */
final class SleepMark {

    private static final int ASLEEP = 1;
    private static final int AWAKE = 0;

    private final UnsafeBuffer table;

    SleepMark(UnsafeBuffer table) {
        this.table = table;
    }

    /**
     * Marks the worker asleep until this time on the monotonic clock. Later reads of the caller are executed after
     * that.
     */
    void asleep(long wakeAtNs) {
        table.putLongRelease(CursorLayout.WAKE_AT_NS_AT, wakeAtNs);
        asleep();
    }

    /** Marks the worker asleep, and leaves the planned end of the sleep. */
    void asleep() {
        table.putIntRelease(CursorLayout.ASLEEP_AT, ASLEEP);
        VarHandle.fullFence(); // before the journals are polled again
    }

    /** Removes the mark, and leaves the planned end of the sleep. */
    void polled() {
        table.putIntRelease(CursorLayout.ASLEEP_AT, AWAKE);
    }

    void awake() {
        polled();
        table.putLongRelease(CursorLayout.WAKE_AT_NS_AT, 0);
    }

    boolean isAsleep() {
        return table.getIntVolatile(CursorLayout.ASLEEP_AT) == ASLEEP;
    }

    /** Returns whether the worker must be woken to see what the caller wrote before. */
    boolean isAsleepAfterFence() {
        VarHandle.fullFence(); // after the record
        return isAsleep();
    }

    /** Returns the planned end of the sleep, on the monotonic clock; 0 when the worker is awake. */
    long wakeAtNs() {
        return table.getLongVolatile(CursorLayout.WAKE_AT_NS_AT);
    }
}
