package io.waybill.dispatch;

import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Thread pool of one provider's handlers. Ends with the provider, so that no thread keeps a reference to it.
 *
 * <p>A task goes to the thread that became idle last. When none is idle, or when more than
 * {@link ExecutorSettings#eagerThreads()} run and their tasks end quickly, it waits
 * {@link ExecutorSettings#growDelayNs()} for a free thread, and then gets a new one, unless as many are busy as there
 * are processors. Short tasks thus share few threads that need not be woken, and tasks that block on each other never
 * wait for a thread for long: as many may run as are admitted.
 *
 * <p><b>Threads.</b> Any may call. <b>Errors.</b> A task that throws is logged; its thread continues.
 */
public final class HandlerExecutor {

    /** Task that is notified when it will not run, or will not end. */
    public interface Abandonable extends Runnable {

        /**
         * Notifies that the executor was closed before this was run, or closed and did not end in time; in the second
         * case {@link #run()} may still be running and may even end later.
         */
        void abandoned();
    }

    private static final Logger LOG = LoggerFactory.getLogger(HandlerExecutor.class);
    /** Approximate cost of waking a thread. */
    private static final long QUICK_NS = 50_000;
    /** Duration after which a running task keeps no other task from a thread. */
    private static final long LONG_NS = 5_000_000;

    private final String provider;
    private final ExecutorSettings settings;
    private final Threads threads;
    private final Clock clock;
    private final PolledTasks.Source source;
    private final PolledTasks polled;

    final Object lock = new Object();
    // All of these are guarded by lock.
    final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
    private final List<PoolThread> idle = new ArrayList<>(); // ordered by the time since which they are idle
    private final Set<PoolThread> alive = new HashSet<>();
    private int running;
    private int started;
    private int writtenOff;
    private boolean helping;
    private long lastEndedNs; // this and the next one on the boot clock
    private long lastHandedNs;
    private volatile boolean closed;
    private boolean roomIsWanted;

    /**
     * Creates an executor without threads.
     *
     * @param provider prefix of the threads' names
     */
    public HandlerExecutor(
            String provider, ExecutorSettings settings, Threads threads, Clock clock, PolledTasks.Source source) {
        this.provider = provider;
        this.settings = settings;
        this.threads = threads;
        this.clock = clock;
        this.source = source;
        this.polled = new PolledTasks(this, clock, source.polling());
    }

    /**
     * Submits a task, which runs as soon as a thread takes it.
     *
     * @throws ExecutorRefusedException when the max number of tasks is running or waiting, or this is closed
     */
    public void execute(Runnable task) {
        PoolThread toWake;
        synchronized (lock) {
            admit();
            if (idle.isEmpty() || running >= settings.eagerThreads() && isProgressing()) {
                waiting.add(task);
                polled.waitingChanged();
                toWake = helpIfNeeded();
            } else {
                toWake = idle.remove(idle.size() - 1);
                toWake.hand(task);
                running++;
                lastHandedNs = clock.bootNs();
            }
        }
        if (toWake != null) {
            toWake.unpark();
        }
    }

    /**
     * Returns whether a running thread will be free sooner than another could be woken: tasks end quickly, or a short
     * one was just passed to a thread.
     */
    private boolean isProgressing() {
        long nowNs = clock.bootNs();
        return nowNs - lastEndedNs < QUICK_NS || polled.areShort() && nowNs - lastHandedNs < QUICK_NS;
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

    /**
     * Sends one more thread, if a task waits and no thread is starting for it; the thread first waits for a delay.
     * Under lock.
     *
     * @return an idle thread that is to be woken for it; null when there is none
     */
    PoolThread helpIfNeeded() {
        if (waiting.isEmpty() || helping) {
            return null;
        }
        if (!idle.isEmpty()) {
            PoolThread helper = idle.remove(idle.size() - 1);
            helper.sendToHelp();
            helping = true;
            return helper;
        }
        if (alive.size() - writtenOff < settings.maxTasks()) {
            startThread(alive.size() - writtenOff < settings.eagerThreads() ? 0 : settings.growDelayNs());
        }
        return null;
    }

    private void startThread(long delayNs) {
        PoolThread added = new PoolThread(this, settings, threads, clock, delayNs);
        helping = true;
        alive.add(added);
        try {
            threads.start(provider + "-handler-" + ++started, added);
        } catch (RuntimeException | OutOfMemoryError e) { // refused: the existing threads run the waiting tasks
            helping = false;
            alive.remove(added);
            if (alive.isEmpty()) {
                waiting.removeLast();
                polled.waitingChanged();
                throw new ExecutorRefusedException(
                        ExecutorRefusedException.Reason.FULL, "the host gives no thread to " + provider);
            }
            LOG.warn("The host gives no more than {} threads to {}: {}", alive.size(), provider, e.getMessage());
        }
    }

    /**
     * Replaces a thread that does not return from its task: the thread and its task no longer count, so that another
     * thread and task may start. If the thread returns after all, it continues as before.
     *
     * @return whether it is a thread of this executor that runs a task now and was not written off before
     */
    public boolean writeOff(Thread stuck) {
        PoolThread toWake;
        boolean roomCame;
        synchronized (lock) {
            PoolThread found =
                    alive.stream().filter(each -> each.isOn(stuck)).findAny().orElse(null);
            if (found == null || found.current() == null || !found.writeOff()) {
                return false;
            }
            writtenOff++;
            running--;
            roomCame = takeWantedRoom();
            toWake = helpIfNeeded();
        }
        if (toWake != null) {
            toWake.unpark();
        }
        if (roomCame) {
            source.roomListener().run();
        }
        return true;
    }

    /** Returns the number of threads alive. */
    public int threadCount() {
        synchronized (lock) {
            return alive.size();
        }
    }

    /**
     * Returns whether one more task would be accepted now; otherwise the listener is notified when one would. False
     * once it is closed, too.
     */
    public boolean hasRoom() {
        synchronized (lock) {
            boolean hasRoom = !closed && running + waiting.size() < settings.maxTasks();
            roomIsWanted |= !hasRoom;
            return hasRoom;
        }
    }

    /** Returns whether there is room now that a task waits for. Under lock. */
    boolean takeWantedRoom() {
        boolean came = roomIsWanted && !closed && running + waiting.size() < settings.maxTasks();
        roomIsWanted &= !came;
        return came;
    }

    /** Returns the number of tasks that run or wait. */
    public int taskCount() {
        synchronized (lock) {
            return running + waiting.size();
        }
    }

    /**
     * Ends all threads: takes no more tasks, drops waiting tasks, interrupts running ones, and abandons threads that
     * have not ended at the limit. A second call does nothing.
     *
     * @return number of abandoned threads; they are daemons
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
            polled.waitingChanged();
            toEnd = List.copyOf(alive);
            toEnd.stream().filter(each -> !polled.isPolling(each)).forEach(PoolThread::interrupt);
        }
        dropped.forEach(this::notifyAbandoned);
        long untilNs = clock.monotonicNs() + limit.toNanos();
        int givenUp = 0;
        for (PoolThread pooled : toEnd) {
            Runnable unfinished = pooled.awaitEnd(lock, alive, untilNs);
            if (unfinished != null) {
                givenUp++;
                notifyAbandoned(unfinished);
            }
        }
        return givenUp;
    }

    private void notifyAbandoned(Runnable task) {
        if (task instanceof Abandonable abandonable) {
            abandonable.abandoned();
        }
    }

    // ---- methods for its threads

    String provider() {
        return provider;
    }

    /**
     * Returns whether a thread that was sent to help may proceed: false while as many threads are
     * {@linkplain PoolThread#isBusy busy} as there are processors.
     */
    boolean mayHelp() {
        synchronized (lock) {
            long nowNs = clock.bootNs();
            return waiting.isEmpty()
                    || closed
                    || alive.stream()
                                    .filter(each -> each.isBusy(nowNs, LONG_NS))
                                    .count()
                            < settings.eagerThreads();
        }
    }

    /** Takes a waiting task for a thread that was sent to help; null when there is none. */
    Runnable help(PoolThread helper) {
        Runnable task;
        PoolThread toWake;
        synchronized (lock) {
            helping = false;
            task = takeWaiting(helper);
            toWake = helpIfNeeded();
        }
        if (toWake != null) {
            toWake.unpark();
        }
        return task;
    }

    /** Counts a thread's last task out and takes a waiting task; null when none waits. */
    Runnable nextTask(PoolThread free) {
        boolean polls;
        boolean roomCame;
        Runnable next;
        synchronized (lock) {
            long endedBeforeNs = lastEndedNs;
            countOut(free, clock.bootNs());
            polls = !closed && polled.take(free, lastEndedNs - endedBeforeNs);
            next = polls ? null : takeWaiting(free);
            roomCame = takeWantedRoom();
        }
        if (roomCame) {
            source.roomListener().run();
        }
        if (polls) {
            polled.poll(free);
        }
        return next;
    }

    /** Counts a thread's task out. Under lock. */
    void countOut(PoolThread free, long nowNs) {
        if (free.isWrittenOff()) {
            writtenOff--;
        } else {
            running--;
        }
        free.current(null);
        lastEndedNs = nowNs;
    }

    /** Counts in a task that a thread has polled, if another task is accepted and none waits. Under lock. */
    boolean countIn(PoolThread polling, Runnable task) {
        boolean begins = !closed && waiting.isEmpty() && running < settings.maxTasks();
        if (begins) {
            running++;
            polling.current(task);
        }
        return begins;
    }

    /** Notifies of room that {@link #takeWantedRoom} found. */
    void roomCame() {
        source.roomListener().run();
    }

    /** Returns the source of polled tasks for the polling thread of this executor. */
    public PolledTasks polled() {
        return polled;
    }

    /** Takes the next waiting task. Under lock. */
    Runnable takeWaiting(PoolThread taker) {
        Runnable next = waiting.poll();
        if (next != null) {
            polled.waitingChanged();
            running++;
            taker.current(next);
        }
        return next;
    }

    /**
     * Takes a task that arrived in the meantime. When it returns null, the thread is idle from now on, or has ended.
     */
    Runnable missedOrIdle(PoolThread resting) {
        synchronized (lock) {
            Runnable missed = takeWaiting(resting);
            if (missed == null && closed) {
                end(resting);
            } else if (missed == null) {
                idle.add(resting);
            }
            return missed;
        }
    }

    /** Returns the task that a thread got while it was idle; null when it is to help, or has ended. */
    Runnable afterRest(PoolThread rested) {
        synchronized (lock) {
            Runnable task = rested.takeHanded();
            if (task == null && !rested.takeHelp()) {
                idle.remove(rested);
                end(rested);
            }
            return task;
        }
    }

    /** Removes a thread that ends. Under lock. */
    private void end(PoolThread last) {
        last.end();
        alive.remove(last);
        lock.notifyAll();
    }

    /** Returns whether it takes no more tasks. */
    public boolean isClosed() {
        return closed;
    }

    /** Clears the interrupt of a task, so that the next one does not see it. */
    void dropInterrupt() {
        synchronized (lock) {
            if (!closed) {
                Thread.interrupted();
            }
        }
    }
}
