package io.waybill.broker;

import io.waybill.api.broker.ScheduledTask;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * Scheduled task until it begins or is cancelled; from then on it refers to nothing of its owner.
 *
 * <p><b>Threads.</b> Thread-safe. Its time is changed only while it is in no collection.
 */
final class PendingTimer implements ScheduledTask, Comparable<PendingTimer> {

    /** Delay before the next attempt, when all threads of its owner are busy. */
    private static final long BUSY_NS = 50_000_000;

    private static final AtomicLong CREATED = new AtomicLong();

    private final AtomicReference<Runnable> task;
    private final long number = CREATED.getAndIncrement(); // of tasks due at one time the first comes first
    private final Timers timers;
    private final OwnerThreads threads;
    private final Consumer<PendingTimer> endListener;
    private volatile long dueNs;

    PendingTimer(Runnable task, long dueNs, Timers timers, OwnerThreads threads, Consumer<PendingTimer> endListener) {
        this.task = new AtomicReference<>(task);
        this.dueNs = dueNs;
        this.timers = timers;
        this.threads = threads;
        this.endListener = endListener;
    }

    long dueNs() {
        return dueNs;
    }

    /** Passes the task to its owner's threads. */
    void begin() {
        if (!threads.run(this::run) && isScheduled()) {
            dueNs += BUSY_NS;
            timers.add(this);
        }
    }

    private void run() {
        Runnable begun = task.getAndSet(null);
        if (begun != null) {
            endListener.accept(this);
            threads.call("scheduled task", begun, begun);
        }
    }

    @Override
    public boolean cancel() {
        boolean cancelled = task.getAndSet(null) != null;
        if (cancelled) {
            timers.remove(this);
            endListener.accept(this);
        }
        return cancelled;
    }

    @Override
    public boolean isScheduled() {
        return task.get() != null;
    }

    @Override
    public int compareTo(PendingTimer other) {
        int byTime = Long.signum(dueNs - other.dueNs);
        return byTime != 0 ? byTime : Long.compare(number, other.number);
    }
}
