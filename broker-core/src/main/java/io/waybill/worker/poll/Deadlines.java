package io.waybill.worker.poll;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The earliest deadline of the calls without an outcome, as an upper bound of how long no look is needed. Thread-safe.
 */
public final class Deadlines {

    private final AtomicLong earliestNs = new AtomicLong(Long.MAX_VALUE);

    /** A call ends at this time at the latest; 0 for never. Returns whether that is earlier than all before. */
    public boolean add(long deadlineNs) {
        if (deadlineNs == 0) {
            return false;
        }
        long earliest = earliestNs.get();
        while (deadlineNs < earliest) {
            if (earliestNs.compareAndSet(earliest, deadlineNs)) {
                return true;
            }
            earliest = earliestNs.get();
        }
        return false;
    }

    public long earliestNs() {
        return earliestNs.get();
    }

    /** Before the calls are looked at: deadlines added from now on count from zero. */
    public void restart() {
        earliestNs.set(Long.MAX_VALUE);
    }
}
