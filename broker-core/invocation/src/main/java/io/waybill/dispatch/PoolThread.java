package io.waybill.dispatch;

import io.waybill.api.context.ThreadContext;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Thread of a {@link HandlerExecutor}: takes tasks from it, runs them, and waits in between.
 *
 * <p><b>Threads.</b> Runs on its own. Other threads pass it tasks in volatile fields, which they set under the
 * executor's lock.
 */
public final class PoolThread implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(PoolThread.class);

    /** Max interval at which a helping thread checks whether the busy threads are blocked. */
    private static final long MAX_HELP_NS = 800_000;

    private final HandlerExecutor executor;
    private final ExecutorSettings settings;
    private final Threads threads;
    private final Clock clock;
    private final long delayNs;
    private volatile Thread thread; // set by itself, read by threads that wake it
    private volatile Runnable handed; // set by the thread that passes it a task, cleared by this thread
    private volatile boolean helps; // set by the thread that sends it to waiting tasks, cleared by this thread
    private Runnable current; // guarded by the executor's lock
    private boolean writtenOff; // guarded like the field above, and so are the next ones
    private Runnable seen; // its task at the last check; null for none
    private long seenSinceNs;
    private boolean ended; // used by this thread only
    private ThreadContext context; // used by this thread only; null before it begins

    /**
     * Creates a thread.
     *
     * @param delayNs time before it checks whether it is needed
     */
    PoolThread(HandlerExecutor executor, ExecutorSettings settings, Threads threads, Clock clock, long delayNs) {
        this.executor = executor;
        this.settings = settings;
        this.threads = threads;
        this.clock = clock;
        this.delayNs = delayNs;
    }

    @Override
    public void run() {
        // the starting thread's loader may be of a bundle that leaves earlier
        Thread.currentThread().setContextClassLoader(HandlerExecutor.class.getClassLoader());
        thread = threads.current();
        context = ThreadContext.own();
        long helpAfterNs = delayNs; // it was started because a task waits
        while (!ended) {
            if (helpAfterNs > 0) {
                threads.pause(helpAfterNs);
            }
            for (long ns = settings.growDelayNs(); !executor.mayHelp(); ns = Math.min(2 * ns, MAX_HELP_NS)) {
                threads.pause(ns);
            }
            Runnable task = executor.help(this);
            while (task != null || (task = becomeIdle()) != null) {
                runSafely(task);
                task = executor.nextTask(this);
            }
            helpAfterNs = settings.growDelayNs();
        }
    }

    /** Waits for a task; null when this thread is to help, or has ended. */
    private Runnable becomeIdle() {
        Runnable missed = executor.missedOrIdle(this);
        if (missed == null && !ended) {
            awaitWork();
            missed = executor.afterRest(this);
        }
        return missed;
    }

    private void awaitWork() {
        long idleSinceNs = clock.monotonicNs();
        long keepAliveNs = settings.keepAlive().toNanos();
        while (handed == null && !helps) {
            long idleNs = clock.monotonicNs() - idleSinceNs;
            if (idleNs < settings.spinNs()) {
                threads.spin();
            } else if (idleNs >= keepAliveNs || executor.isClosed()) {
                return;
            } else {
                threads.park(this, keepAliveNs - idleNs);
                if (Thread.interrupted() && executor.isClosed()) {
                    return;
                }
            }
        }
    }

    void runSafely(Runnable task) {
        try {
            task.run();
        } catch (
                Throwable
                        e) { // of the task itself, which guards the foreign code that it calls: the thread must not end
            ForeignErrors.warn(LOG, "A task of " + executor.provider() + " failed", e);
        } finally {
            executor.dropInterrupt();
            context.leave(null); // removes anything that foreign code left behind
        }
    }

    /**
     * Waits until the lock-guarded set of alive threads no longer has this thread; at the limit returns the task that
     * it still runs.
     */
    Runnable awaitEnd(Object lock, Set<PoolThread> alive, long untilNs) {
        synchronized (lock) {
            while (alive.contains(this)) {
                long leftMs = TimeUnit.NANOSECONDS.toMillis(untilNs - clock.monotonicNs());
                if (leftMs <= 0) {
                    return current;
                }
                try {
                    threads.waitOn(lock, Math.min(leftMs, 50));
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return current;
                }
            }
            return null;
        }
    }

    // ---- under the executor's lock

    void hand(Runnable task) {
        handed = task;
    }

    void sendToHelp() {
        helps = true;
    }

    /** Takes the task that was passed to it; null when there is none. */
    Runnable takeHanded() {
        Runnable task = handed;
        handed = null;
        current = task;
        return task;
    }

    /** Returns, and clears, whether it was sent to help with waiting tasks. */
    boolean takeHelp() {
        boolean sent = helps;
        helps = false;
        return sent;
    }

    void current(Runnable task) {
        current = task;
        writtenOff = false;
    }

    /** Writes the thread off until its current task ends. Returns whether that is new. */
    boolean writeOff() {
        boolean before = writtenOff;
        writtenOff = true;
        return !before;
    }

    /**
     * Returns whether it needs a processor for its task: its state says so, and it has not had that task for longer
     * than the max.
     */
    boolean isBusy(long nowNs, long maxNs) {
        if (current != seen) {
            seen = current;
            seenSinceNs = nowNs;
        }
        return current != null
                && !writtenOff
                && nowNs - seenSinceNs < maxNs
                && thread.getState() == Thread.State.RUNNABLE;
    }

    boolean isWrittenOff() {
        return writtenOff;
    }

    boolean isOn(Thread wanted) {
        return thread == wanted;
    }

    Runnable current() {
        return current;
    }

    void end() {
        ended = true;
    }

    void interrupt() {
        if (thread != null) {
            thread.interrupt();
        }
    }

    // ---- methods for any thread

    void unpark() {
        threads.unpark(thread);
    }
}
