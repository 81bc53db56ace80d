package io.waybill.worker.poll;

import java.util.concurrent.atomic.AtomicLong;

/** Lower bound of the deadlines of the calls in flight: no check for timeouts is needed before it. Thread-safe. */
public final class Deadlines {

    private final AtomicLong earliestNs = new AtomicLong(Long.MAX_VALUE);

    /** Adds the deadline of a call; 0 for none. Returns whether it is the earliest. */
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

    /** Clears all deadlines, before the calls are checked; deadlines added meanwhile count. */
    public void restart() {
        earliestNs.set(Long.MAX_VALUE);
    }
}
