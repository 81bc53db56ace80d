package io.waybill.dispatch;

import io.waybill.host.Clock;
import java.util.function.Supplier;

/**
 * Tasks of a thread of a {@link HandlerExecutor} that polls for tasks itself: the tasks that it finds, and the waiting
 * ones. One thread at a time polls, when tasks follow each other soon, so that no thread needs to be woken; while it is
 * inside a long task that it has found, another one may poll.
 *
 * <p><b>Threads.</b> Called by the thread that polls, if not stated otherwise.
 */
public final class PolledTasks {

    /** Strategy for polling on a thread. */
    @FunctionalInterface
    public interface Polling {

        /**
         * Polls for requests on the calling thread, which is {@code pooled}, and runs the requests of this executor,
         * until other threads are better at it.
         */
        void poll(HandlerExecutor executor, PoolThread pooled);
    }

    /** Max time between tasks at which a thread polls. */
    private static final long PAYS_NS = 10_000_000;

    private final HandlerExecutor executor;
    private final Clock clock;
    private final Supplier<Polling> polling;
    private PoolThread poller; // guarded by the executor's lock; null for none
    private volatile boolean taskWaits; // written under the executor's lock
    private volatile boolean areShort; // written by the executor's threads

    /**
     * Source of the tasks of an executor.
     *
     * @param roomListener called on any thread when there is room again after {@linkplain HandlerExecutor#hasRoom a
     * check} found none
     * @param polling supplier of the way in which the executor's threads poll for tasks themselves; returns null when
     * they do not
     */
    public record Source(Runnable roomListener, Supplier<Polling> polling) {

        /** Source without polling, and without notifications of room. */
        public static final Source PLAIN = new Source(() -> {}, () -> null);
    }

    PolledTasks(HandlerExecutor executor, Clock clock, Supplier<Polling> polling) {
        this.executor = executor;
        this.clock = clock;
        this.polling = polling;
    }

    // ---- under the executor's lock

    void waitingChanged() {
        taskWaits = !executor.waiting.isEmpty();
    }

    /** Returns whether the thread polls, and is in no task. */
    boolean isPolling(PoolThread thread) {
        return thread == poller && thread.current() == null;
    }

    /** Makes a thread whose task has ended the polling thread, if that pays. Returns whether it is. */
    boolean take(PoolThread free, long sinceLastNs) {
        boolean takes = sinceLastNs < PAYS_NS && poller == null && mayPoll();
        if (takes) {
            poller = free;
        }
        return takes;
    }

    // ---- methods for the polling thread

    /** Polls, after {@link #take}. */
    void poll(PoolThread self) {
        try {
            polling.get().poll(executor, self);
        } finally {
            handOver(self);
        }
    }

    /** Lets another thread poll: the calling one is about to be inside a task for longer. */
    public void handOver(PoolThread self) {
        synchronized (executor.lock) {
            if (poller == self) {
                poller = null;
            }
        }
    }

    /** Polls again, after {@link #handOver}. Returns whether no other thread does so by now. */
    public boolean retake(PoolThread self) {
        synchronized (executor.lock) {
            boolean takes = poller == null && !executor.isClosed();
            if (takes) {
                poller = self;
            }
            return takes;
        }
    }

    /** Returns whether a task waits for a thread. */
    public boolean taskWaits() {
        return taskWaits;
    }

    /** Runs a waiting task, if there is one. */
    public void runWaiting(PoolThread self) {
        Runnable task;
        synchronized (executor.lock) {
            task = executor.takeWaiting(self);
        }
        if (task != null) {
            self.runSafely(task);
            end(self, clock.bootNs());
        }
    }

    /**
     * Begins a task that this thread has polled. Returns false when it is to be {@linkplain HandlerExecutor#execute
     * executed} instead.
     */
    public boolean begin(PoolThread self, Runnable task) {
        synchronized (executor.lock) {
            return executor.countIn(self, task);
        }
    }

    /**
     * Ends this task, and clears an interrupt that was meant for it.
     *
     * @param nowNs on the boot clock
     */
    public void end(PoolThread self, long nowNs) {
        boolean roomCame;
        synchronized (executor.lock) {
            executor.countOut(self, nowNs);
            roomCame = executor.takeWantedRoom();
            if (Thread.currentThread().isInterrupted() && !executor.isClosed()) {
                Thread.interrupted();
            }
        }
        if (roomCame) {
            executor.roomCame();
        }
    }

    /**
     * Leaves a task to the calling thread, if that thread polls and no other task waits: it runs the task when it is in
     * no handler any more. No thread is woken.
     *
     * @return whether the thread runs it; otherwise the task is to be {@linkplain HandlerExecutor#execute executed}
     */
    public boolean leave(PoolThread self, Runnable task) {
        synchronized (executor.lock) {
            boolean takes =
                    poller == self && self.current() == null && executor.waiting.isEmpty() && executor.hasRoom();
            if (takes) {
                executor.waiting.add(task);
                waitingChanged();
            }
            return takes;
        }
    }

    // ---- methods for any thread

    /** Returns whether threads poll for tasks at all. */
    public boolean mayPoll() {
        return polling.get() != null;
    }

    /** Makes another thread run the tasks that were left to the polling thread, which is late. */
    public void help() {
        PoolThread toWake;
        synchronized (executor.lock) {
            toWake = executor.helpIfNeeded();
        }
        if (toWake != null) {
            toWake.unpark();
        }
    }

    /** Returns whether the task that ended last is of a handler whose calls are short. */
    public boolean areShort() {
        return areShort;
    }

    /** Notes whether the task that ends is of a handler whose calls are short. */
    void areShort(boolean isShort) {
        if (areShort != isShort) {
            areShort = isShort;
        }
    }
}
