package io.waybill.home.cursor;

import java.lang.invoke.VarHandle;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Whether a worker waits at its doorbell, as it tells its peers. The protocol is that of {@link io.waybill.home.Doorbell}: the one who waits
 * looks once more behind its mark, and who sends looks at the mark behind its record, each with a full fence in between.
 *
 * <p><b>Threads.</b> The marks belong to the thread that waits, in the process that owns the table; the looks are anyone's. <b>Memory.</b>
 * Nothing allocates.
 */
final class SleepMark {

    private static final int ASLEEP = 1;
    private static final int AWAKE = 0;

    private final UnsafeBuffer table;

    SleepMark(UnsafeBuffer table) {
        this.table = table;
    }

    /** Marks it asleep until then on the monotonic clock. What the caller looks at next, it reads after that. */
    void asleep(long wakeAtNs) {
        table.putLongRelease(CursorLayout.WAKE_AT_NS_AT, wakeAtNs);
        asleep();
    }

    /** Does so, and leaves the planned end of the sleep. */
    void asleep() {
        table.putIntRelease(CursorLayout.ASLEEP_AT, ASLEEP);
        VarHandle.fullFence(); // before the journals are looked at again
    }

    /** Takes the mark away, and leaves the planned end of the sleep. */
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

    /** Returns whether it must be woken to see what the caller wrote before. */
    boolean isAsleepAfterFence() {
        VarHandle.fullFence(); // behind the record
        return isAsleep();
    }

    /** Returns until when it means to sleep, on the monotonic clock; 0 when it is awake. */
    long wakeAtNs() {
        return table.getLongVolatile(CursorLayout.WAKE_AT_NS_AT);
    }
}
