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
 * One thread of a {@link HandlerExecutor}: takes tasks from it, runs them, and waits in between.
 *
 * <p><b>Threads.</b> Runs on its own. Other threads pass it tasks in volatile fields, which they set under the
 * executor's lock.
 */
public final class PoolThread implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(PoolThread.class);

    /** How often a thread that is to help looks, at least, whether those that are busy block by now. */
    private static final long MAX_HELP_NS = 800_000;

    private final HandlerExecutor executor;
    private final ExecutorSettings settings;
    private final Threads threads;
    private final Clock clock;
    private final long delayNs;
    private volatile Thread thread; // set by itself, read by threads that wake it
    private volatile Runnable handed; // set by the thread that passes it a task, cleared by itself
    private volatile boolean helps; // set by the thread that sends it to waiting tasks, cleared by itself
    private Runnable current; // guarded by the executor's lock
    private boolean writtenOff; // guarded as the field above, and those below
    private Runnable seen; // its task when it was last looked at; null for none
    private long seenSinceNs;
    private boolean ended; // its own
    private ThreadContext context; // its own; null before it begins

    /**
     * Creates a thread.
     *
     * @param delayNs how long it waits before it checks whether it is needed
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
        long helpAfterNs = delayNs; // it was started because something waits
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
            context.leave(null); // whatever foreign code left behind
        }
    }

    /** Waits until this thread has left those that are alive, which the lock guards; at the limit returns what it still runs. */
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

    /** Whether it was sent to what waits; it goes now. */
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

    /** Whether it needs a processor for its task, as far as its state says, and has not had that task for longer. */
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

    // ---- any

    void unpark() {
        threads.unpark(thread);
    }
}
