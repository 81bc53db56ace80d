package io.waybill.dispatch;

import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads of one provider's handlers. Lives and dies with the provider, so that nothing of it stays behind in a thread.
 *
 * <p>A task goes to the thread that became idle last. When none is idle, it gets a new thread at once up to
 * {@link ExecutorSettings#eagerThreads()}; beyond that it waits {@link ExecutorSettings#growDelayNs()} for a thread to come free and
 * then gets a new one. Short tasks thus share few threads, and tasks that block on each other never wait for a thread for long:
 * as many may run as are admitted.
 *
 * <p><b>Threads.</b> Any may call. <b>Errors.</b> A task that throws is logged; its thread goes on.
 */
public final class HandlerExecutor {

    /** A task that wants to know that it won't run, or won't end. */
    public interface Abandonable extends Runnable {

        /**
         * The executor was closed before this was run, or closed and did not end in time; in the second case {@link #run()} may still be
         * running and may even end later.
         */
        void abandoned();
    }

    private static final Logger LOG = LoggerFactory.getLogger(HandlerExecutor.class);

    private final String provider;
    private final ExecutorSettings settings;
    private final Threads threads;
    private final Clock clock;

    private final Object lock = new Object();
    // All of these are guarded by lock.
    private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
    private final List<PoolThread> idle = new ArrayList<>(); // the last became idle last
    private final Set<PoolThread> alive = new HashSet<>();
    private int running;
    private int started;
    private boolean growing;
    private boolean closed;

    /** @param provider the start of the threads' names */
    public HandlerExecutor(String provider, ExecutorSettings settings, Threads threads, Clock clock) {
        this.provider = provider;
        this.settings = settings;
        this.threads = threads;
        this.clock = clock;
    }

    /**
     * Runs a task soon.
     *
     * @throws ExecutorRefusedException when as many as allowed are running or waiting, or this is closed
     */
    public void execute(Runnable task) {
        PoolThread chosen;
        synchronized (lock) {
            admit();
            chosen = idle.isEmpty() ? null : idle.remove(idle.size() - 1);
            if (chosen != null) {
                running++;
                chosen.handed = task;
            } else {
                waiting.add(task);
                growIfNeeded();
            }
        }
        if (chosen != null) {
            LockSupport.unpark(chosen.thread);
        }
    }

    private void admit() {
        if (closed) {
            throw new ExecutorRefusedException(
                    ExecutorRefusedException.Reason.CLOSED, "the threads of " + provider + " were closed");
        }
        if (running + waiting.size() >= settings.maxTasks()) {
            throw new ExecutorRefusedException(
                    ExecutorRefusedException.Reason.FULL,
                    provider + " runs " + running + " requests and " + waiting.size() + " wait, and at most "
                            + settings.maxTasks() + " may");
        }
    }

    /** Starts one more thread when something waits and no other new thread is on its way. Under lock. */
    private void growIfNeeded() {
        if (waiting.isEmpty() || growing || alive.size() >= settings.maxTasks()) {
            return;
        }
        long delayNs = alive.size() < settings.eagerThreads() ? 0 : settings.growDelayNs();
        PoolThread added = new PoolThread(delayNs);
        growing = true;
        alive.add(added);
        try {
            threads.start(provider + "-handler-" + ++started, added);
        } catch (OutOfMemoryError e) { // the host gives no more threads: what waits is run by those there are
            growing = false;
            alive.remove(added);
            if (alive.isEmpty()) {
                waiting.removeLast();
                throw new ExecutorRefusedException(
                        ExecutorRefusedException.Reason.FULL, "the host gives no thread to " + provider);
            }
            LOG.warn("The host gives no more than {} threads to {}: {}", alive.size(), provider, e.getMessage());
        }
    }

    /** Threads alive now. */
    public int threadCount() {
        synchronized (lock) {
            return alive.size();
        }
    }

    /** Tasks that run or wait now. */
    public int taskCount() {
        synchronized (lock) {
            return running + waiting.size();
        }
    }

    /**
     * Ends all threads: takes no more tasks, drops those that wait, interrupts those that run, and gives up on what has not ended at the
     * limit. A second call does nothing.
     *
     * @return how many threads were given up; they are daemons
     */
    public int close(Duration limit) {
        List<PoolThread> toEnd;
        List<Runnable> dropped;
        synchronized (lock) {
            if (closed) {
                return 0;
            }
            closed = true;
            dropped = List.copyOf(waiting);
            waiting.clear();
            toEnd = List.copyOf(alive);
            for (PoolThread pooled : toEnd) {
                if (pooled.thread != null) {
                    pooled.thread.interrupt();
                }
            }
        }
        dropped.forEach(this::tellAbandoned);
        long untilNs = clock.monotonicNs() + limit.toNanos();
        int givenUp = 0;
        for (PoolThread pooled : toEnd) {
            Runnable unfinished = pooled.awaitEnd(untilNs);
            if (unfinished != null) {
                givenUp++;
                tellAbandoned(unfinished);
            }
        }
        return givenUp;
    }

    private void tellAbandoned(Runnable task) {
        if (task instanceof Abandonable abandonable) {
            abandonable.abandoned();
        }
    }

    /** One thread of the pool. */
    private final class PoolThread implements Runnable {

        private final long delayNs;
        private volatile Thread thread; // set by itself, read by those who wake it
        private volatile Runnable handed; // set under lock by who hands it a task, taken by itself
        private Runnable current; // guarded by lock

        PoolThread(long delayNs) {
            this.delayNs = delayNs;
        }

        @Override
        public void run() {
            // the starting thread's loader may be of a bundle that leaves earlier
            Thread.currentThread().setContextClassLoader(HandlerExecutor.class.getClassLoader());
            synchronized (lock) {
                thread = Thread.currentThread();
            }
            if (delayNs > 0) {
                threads.pause(delayNs);
            }
            Runnable task = firstTask();
            while (task != null) {
                runSafely(task);
                task = nextTask();
            }
        }

        private Runnable firstTask() {
            synchronized (lock) {
                growing = false;
                Runnable first = waiting.poll();
                if (first != null) {
                    running++;
                    current = first;
                    growIfNeeded();
                    return first;
                }
            }
            return becomeIdle();
        }

        private Runnable nextTask() {
            synchronized (lock) {
                running--;
                current = null;
                Runnable next = waiting.poll();
                if (next != null) {
                    running++;
                    current = next;
                    return next;
                }
            }
            return becomeIdle();
        }

        /** Null when this thread is to end. */
        private Runnable becomeIdle() {
            synchronized (lock) {
                if (closed) {
                    return end();
                }
                Runnable missed = waiting.poll();
                if (missed != null) {
                    running++;
                    current = missed;
                    return missed;
                }
                idle.add(this);
            }
            awaitHanded();
            synchronized (lock) {
                Runnable task = handed;
                handed = null;
                if (task == null) {
                    idle.remove(this);
                    return end();
                }
                current = task;
                return task;
            }
        }

        private void awaitHanded() {
            long idleSinceNs = clock.monotonicNs();
            long keepAliveNs = settings.keepAlive().toNanos();
            while (handed == null) {
                long idleNs = clock.monotonicNs() - idleSinceNs;
                if (idleNs < settings.spinNs()) {
                    Thread.onSpinWait();
                } else if (idleNs >= keepAliveNs || isClosed()) {
                    return;
                } else {
                    LockSupport.parkNanos(this, keepAliveNs - idleNs);
                    if (Thread.interrupted() && isClosed()) {
                        return;
                    }
                }
            }
        }

        private boolean isClosed() {
            synchronized (lock) {
                return closed;
            }
        }

        private Runnable end() {
            alive.remove(this);
            current = null;
            lock.notifyAll();
            return null;
        }

        /** Waits until this thread ended; at the limit returns what it still runs. */
        Runnable awaitEnd(long untilNs) {
            synchronized (lock) {
                while (alive.contains(this)) {
                    long leftMs = TimeUnit.NANOSECONDS.toMillis(untilNs - clock.monotonicNs());
                    if (leftMs <= 0) {
                        return current;
                    }
                    try {
                        lock.wait(Math.min(leftMs, 50));
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                        return current;
                    }
                }
                return null;
            }
        }

        private void runSafely(Runnable task) {
            try {
                task.run();
            } catch (Throwable e) { // the boundary around a handler: whatever it throws costs its own request only
                LOG.error("A task of {} failed", provider, e);
            } finally {
                synchronized (lock) {
                    if (!closed) {
                        Thread.interrupted(); // what interrupted the task is not the next one's
                    }
                }
            }
        }
    }
}
