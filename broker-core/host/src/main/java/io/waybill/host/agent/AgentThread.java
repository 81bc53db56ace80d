package io.waybill.host.agent;

import io.waybill.host.Threads;
import org.agrona.ErrorHandler;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentRunner;

/**
 * Thread that repeats the duty cycle of one agent until it is closed.
 *
 * <p><b>Threads.</b> Thread-safe. All methods of the agent run on its thread; {@link Agent#onClose} runs on the closing
 * one when the agent was never started.
 *
 * <p><b>Errors.</b> Every exception of a duty cycle is counted and given to the error handler, and the next cycle
 * follows after a back-off from 10 ms to 1 s. Exceptions of a wait are handled in the same way, and so are exceptions
 * between both: HotSpot may report a fault in mapped memory anywhere. Neither an {@link Error} nor an interrupt ends
 * the agent; an {@link org.agrona.concurrent.AgentTerminationException} does.
 */
public final class AgentThread implements AutoCloseable {

    private final String threadName;
    private final WakeableIdleStrategy idle;
    private final RetriedAgent retried;
    private final FailureLog failures;
    private final AgentRunner first;
    private boolean firstHasRun; // used by the agent's thread
    private Threads host; // guarded by this until it starts; null before
    private volatile Thread thread; // null before it starts; written under this
    private boolean ended; // guarded by this: before it started

    /** Creates a thread that logs failures: the first of a series as an error, and the end of the series. */
    public AgentThread(String threadName, Agent agent, WakeableIdleStrategy idle) {
        this(threadName, agent, idle, new FailureLog(threadName));
    }

    /**
     * Creates a thread.
     *
     * @param onError accepts exceptions of a duty cycle, on the agent's thread
     */
    public AgentThread(String threadName, Agent agent, WakeableIdleStrategy idle, ErrorHandler onError) {
        this(threadName, agent, idle, new FailureLog(threadName, onError));
    }

    private AgentThread(String threadName, Agent agent, WakeableIdleStrategy idle, FailureLog failures) {
        this.threadName = threadName;
        this.idle = idle;
        this.retried = new RetriedAgent(agent, idle, failures);
        this.failures = failures;
        this.first = runner();
    }

    /**
     * Starts the thread. Call once only.
     *
     * @throws Threads.RefusedException when the host gives none
     */
    public synchronized void start(Threads threads) {
        begin(threads);
        thread = threads.start(threadName, this::body);
    }

    /** Starts the thread, now or when the host gives one. Call once only. Does not throw. */
    public void startWhenPossible(Threads threads) {
        synchronized (this) {
            begin(threads);
        }
        threads.startWhenPossible(threadName, this::body);
    }

    private void begin(Threads threads) {
        host = threads;
        retried.startsOn(threads);
    }

    /** Returns whether the agent is to begin: not when it was ended meanwhile. */
    private synchronized boolean isWanted() {
        if (!ended) {
            thread = host.current();
        }
        return !ended;
    }

    /** Body of the thread. */
    private void body() {
        if (isWanted()) {
            runUntilItReturns(this::run, failures);
        }
    }

    private void run() {
        AgentRunner runner = firstHasRun ? runner() : first; // a runner runs once
        firstHasRun = true;
        runner.run();
    }

    private AgentRunner runner() {
        return new AgentRunner(retried, failures, null, retried);
    }

    /** Runs a runner, and runs it again after each exception: a runner does not catch exceptions of its own loop. */
    static void runUntilItReturns(Runnable run, ErrorHandler onError) {
        Throwable thrown = null;
        boolean returned = false;
        while (!returned) {
            try {
                if (thrown != null) {
                    Throwable handled = thrown;
                    thrown = null;
                    onError.onError(handled);
                }
                run.run();
                returned = true;
            } catch (Throwable e) { // also one of the error handler
                thrown = e;
            }
        }
    }

    /** Returns the number of duty cycles and waits that failed. */
    public long failures() {
        return retried.failures();
    }

    /**
     * Ends the agent when its current duty cycle has ended, or before the first one if its thread has not started yet.
     * Does not wait for that.
     */
    public void stop() {
        retried.stop();
        idle.wake();
        synchronized (this) {
            ended = thread == null;
        }
    }

    /**
     * Waits until the agent has ended, or for {@code timeoutNs}. An interrupt starts the wait again, and is pending
     * afterwards. The agent's own thread does not wait.
     *
     * @return whether it has ended
     */
    public boolean join(long timeoutNs) {
        Thread running = thread;
        if (running == null || running == host.current()) {
            return running == null;
        }
        boolean interrupted = false;
        boolean waited = false;
        boolean over = false;
        while (!waited) {
            try {
                over = host.join(running, timeoutNs);
                waited = true;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return over;
    }

    /** Ends the agent, and waits until it has ended. */
    @Override
    public void close() {
        stop();
        join(Long.MAX_VALUE); // otherwise the runner, if this thread is interrupted, interrupts the agent's, whose
        // files that may close
        if (thread == null) {
            first.close(); // closes the agent
        }
    }
}
