package io.waybill.host.agent;

import io.waybill.host.ChangeWatch;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.util.function.LongPredicate;

/**
 * Waits until the next duty cycle of one agent is due, or until a {@link ChangeWatch} reports a change.
 *
 * <p><b>Threads.</b> {@link #wake} by any; the rest by the agent's thread. <b>Ownership.</b> The watch belongs to its
 * opener. A closed watch ends every wait.
 */
public final class ChangeIdleStrategy implements WakeableIdleStrategy {

    private final Clock clock;
    private final ChangeWatch changes;
    private final Threads threads;
    private final LongPredicate wait;
    private long dueNs; // monotonic clock
    private boolean changed;

    /** Creates a strategy that waits for this watch, whose only waiter the agent is. */
    public ChangeIdleStrategy(Clock clock, ChangeWatch changes, Threads threads) {
        this.clock = clock;
        this.changes = changes;
        this.threads = threads;
        this.wait = changes::await;
        this.dueNs = clock.monotonicNs();
    }

    /** Returns whether the last wait ended early, by a change or a {@link #wake}. */
    public boolean hasChanged() {
        return changed;
    }

    @Override
    public void rest(long maxNs) {
        dueNs = clock.monotonicNs() + maxNs;
    }

    @Override
    public void idle() {
        long leftNs = dueNs - clock.monotonicNs();
        changed = leftNs > 0 && threads.await(wait, leftNs);
    }

    @Override
    public void reset() {
        dueNs = clock.monotonicNs();
    }

    @Override
    public String alias() {
        return "changes";
    }

    @Override
    public void wake() {
        changes.wake();
    }
}
