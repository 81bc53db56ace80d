package io.waybill.journal;

import net.openhft.chronicle.queue.RollCycle;
import net.openhft.chronicle.queue.RollCycles;

/** How often a queue begins a new file. The same for all workers of a home. */
public enum Roll {
    /** Every day at midnight UTC; up to 4 billion records a file. */
    DAILY(RollCycles.FAST_DAILY),
    /** Every hour; up to 256 million records a file. */
    HOURLY(RollCycles.FAST_HOURLY),
    /** Every five minutes; up to 1 billion records a file. */
    FIVE_MINUTELY(RollCycles.FIVE_MINUTELY);

    private final RollCycle cycle;

    Roll(RollCycle cycle) {
        this.cycle = cycle;
    }

    RollCycle cycle() {
        return cycle;
    }
}
