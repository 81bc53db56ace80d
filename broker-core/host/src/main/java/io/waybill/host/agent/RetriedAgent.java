package io.waybill.host.agent;

import io.waybill.host.Threads;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.agrona.concurrent.IdleStrategy;

/**
 * Agent, with its idle strategy, whose failed duty cycles and waits are retried.
 * {@link org.agrona.concurrent.AgentRunner} by itself ends at an {@link Error} and at an interrupt. No duty cycle and
 * no wait begins with a pending interrupt.
 *
 * <p><b>Threads.</b> {@link #stop} and {@link #failures} by any; the rest by the runner's.
 */
final class RetriedAgent implements Agent, IdleStrategy {

    private static final long MIN_BACK_OFF_NS = 10_000_000;
    private static final long MAX_BACK_OFF_NS = 1_000_000_000;
    private static final long DEFAULT_REST_NS = 1_000_000_000;
    /**
     * Result of a duty cycle that keeps the runner: a runner whose thread is interrupted ends after a duty cycle
     * without work.
     */
    private static final int SOME_WORK = 1;

    private final Agent agent;
    private final WakeableIdleStrategy idle;
    private final FailureLog log;
    private Threads threads; // set before the runner's thread starts
    private volatile boolean stopped; // set by any thread
    private volatile long failures; // written by the runner's thread alone
    private boolean started;
    private long backOffNs;
    private boolean lastWaitFailed;

    RetriedAgent(Agent agent, WakeableIdleStrategy idle, FailureLog log) {
        this.agent = agent;
        this.idle = idle;
        this.log = log;
    }

    void startsOn(Threads host) {
        threads = host;
    }

    void stop() {
        stopped = true;
    }

    long failures() {
        return failures;
    }

    @Override
    public String roleName() {
        return agent.roleName();
    }

    @Override
    public void onStart() {
        if (started) { // started by an earlier runner, which its own loop ended
            return;
        }
        started = true;
        try {
            agent.onStart();
        } catch (Throwable e) { // no reason to omit its duty cycles
            failed(e);
        }
    }

    @Override
    public int doWork() {
        if (stopped) {
            throw new AgentTerminationException(true);
        }
        Thread.interrupted(); // set by other code that ran here, or that searched for this thread: not meant for
        // the agent
        try {
            idle.rest(DEFAULT_REST_NS);
            if (agent.doWork() > 0) {
                idle.rest(0);
            }
            backOffNs = 0;
            if (!lastWaitFailed) {
                log.succeeded();
            }
        } catch (AgentTerminationException e) {
            throw e;
        } catch (Throwable e) { // after any failure, the next duty cycle may succeed
            failed(e);
        }
        return SOME_WORK;
    }

    @Override
    public void idle(int workCount) {
        idle();
    }

    @Override
    public void idle() {
        Thread.interrupted(); // left by foreign code in the duty cycle
        try {
            threads.endRound();
            idle.idle();
            lastWaitFailed = false;
        } catch (Throwable e) { // JDK 17 may throw a fault in a mapped file late, such as when the thread parks
            lastWaitFailed = true;
            failures++;
            log.onError(e);
            threads.pause(MIN_BACK_OFF_NS);
        }
    }

    @Override
    public void reset() {
        idle.reset();
    }

    @Override
    public String alias() {
        return idle.alias();
    }

    private void failed(Throwable e) {
        failures++;
        backOffNs = Math.min(MAX_BACK_OFF_NS, Math.max(MIN_BACK_OFF_NS, 2 * backOffNs));
        idle.rest(backOffNs);
        log.onError(e);
    }

    @Override
    public void onClose() {
        try {
            agent.onClose();
        } catch (Throwable e) { // the thread ends anyway
            log.onError(e);
        }
    }
}
