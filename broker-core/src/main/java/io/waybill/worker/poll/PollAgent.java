package io.waybill.worker.poll;

import io.waybill.home.cursor.Cursors;
import io.waybill.host.Clock;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;

/**
 * Polls on one of the poller's threads. A duty cycle polls once while the thread has the permit, and otherwise tries to
 * get it. Each sets the wait that follows it.
 *
 * <p><b>Threads.</b> Belongs to its thread.
 */
final class PollAgent implements Agent {

    private static final int AT_ONCE = 1;
    private static final int AFTER_A_WAIT = 0;

    /** What the next duty cycle does. */
    private enum State {
        /** It does not have the permit. */
        STANDS_BY,
        /** It has the permit. */
        POLLS,
        /** It gave the permit back and waits on the doorbell. */
        SLEEPS
    }

    private final Poller poller;
    private final PollIdleStrategy idle;
    private final PollTimes times;
    private final Clock clock;
    private final PollTurns turns;
    private final PollPermit permit;
    private final SpinBalance balance;
    private final HandlerPolling handlers;
    private final HandlerSlots invocations;
    private final Deadlines deadlines;
    private final Cursors cursors;
    private HandlerSlot self; // of this thread; null before its first duty cycle
    private State state = State.STANDS_BY;
    private boolean isSpare;
    private boolean rested; // until the time was over, and has not polled since
    private long checkNs; // until the next check of a leader
    private int emptySleeps; // in a row, which nothing has ended
    private long idleSinceNs; // time of the first poll in a row that found nothing; 0 while polls find something
    private boolean spins; // since then

    PollAgent(PollContext context, Poller poller, PollIdleStrategy idle) {
        this.poller = poller;
        this.idle = idle;
        this.times = context.times;
        this.checkNs = times.leaderCheckNs();
        this.clock = context.clock;
        this.turns = context.turns;
        this.permit = turns.permit();
        this.balance = turns.balance();
        this.handlers = poller.handlers();
        this.invocations = context.invocations;
        this.deadlines = context.deadlines();
        this.cursors = context.cursors;
    }

    @Override
    public String roleName() {
        return "poller";
    }

    @Override
    public int doWork() {
        if (turns.isClosed()) {
            throw new AgentTerminationException(true);
        }
        try {
            return switch (state) {
                case POLLS -> poll();
                case STANDS_BY -> standBy();
                case SLEEPS -> awake();
            };
        } catch (Throwable e) {
            // Whatever it is, this thread goes on: without it, only callers read messages. Most likely it is a fault
            // in a peer's file, which JDK 17 may report late, and anywhere.
            standsBy();
            try {
                turns.stopAfter(e);
            } finally { // logging may fail, too, as where the memory is used up
                turns.wakeUp();
                idle.rest(PollTimes.ERROR_REST_NS); // it may surface again at once
            }
            return AFTER_A_WAIT;
        }
    }

    private void begin() {
        idle.bind();
        self = invocations.own();
        poller.begins(self);
    }

    private int standBy() {
        if (self == null) {
            begin();
        }
        rested = permit.waitsNoMore();
        Thread.interrupted(); // a handler may have left the interrupt set, and park would return at once
        if (!hasRole()) {
            idle.rest(Long.MAX_VALUE);
            return AFTER_A_WAIT;
        }
        if (handlers.isLed(clock.bootNs())) {
            return handOver();
        }
        if (!permit.tryAcquireOrWait()) {
            idle.rest(PollTimes.STANDBY_NS);
            return AFTER_A_WAIT;
        }
        state = State.POLLS;
        cursors.markAwake();
        idleSinceNs = 0;
        return poll();
    }

    /** Returns whether this thread has the role. A thread without it is a spare. */
    private boolean hasRole() {
        if (poller.isActive(self)) {
            if (isSpare) {
                isSpare = false;
                poller.removeSpare(self);
            }
            return true;
        }
        if (!isSpare) {
            isSpare = true;
            poller.addSpare(self);
        }
        return false; // a thread that assigns it the role unparks it
    }

    /** Polls once, with the permit, which it keeps until a caller wants it, another thread has the role, or the worker closes. */
    private int poll() {
        int work = turns.poll();
        if (work == Polled.PERMIT_LOST) {
            return standsBy();
        }
        if (rested && work > 0) {
            turns.countFoundLate();
        }
        rested = false;
        if (turns.isClosed()) {
            return release();
        }
        if (handlers.isLed() || turns.callersPoll()) {
            return poller.isActive(self) ? handOver() : release();
        }
        if (work > 0) {
            idleSinceNs = 0;
            if (spins) {
                spins = false;
                balance.saved();
            }
            return AT_ONCE;
        }
        if (times.spins()) {
            idle.spin();
            return AFTER_A_WAIT;
        }
        long nowNs = clock.monotonicNs();
        if (idleSinceNs == 0) {
            idleSinceNs = nowNs;
        }
        long idleNs = nowNs - idleSinceNs;
        boolean isExpected = handlers.takePassedOn(); // a thread that polls after it
        if (idleNs < times.spinNs() && !isExpected && !balance.sleepsAtOnce(nowNs)) {
            spins = true;
            idle.spin();
            return AFTER_A_WAIT;
        }
        if (spins) {
            spins = false;
            balance.lost(idleNs, nowNs);
        }
        return poller.isActive(self) ? sleep() : release(); // one at a time sleeps
    }

    /**
     * Leaves polling to callers, or to a leader, and sleeps on the doorbell. No peer needs to ring, until {@linkplain PollTurns#callerEnds the last of
     * them} has left.
     */
    private int handOver() {
        long timeoutNs = sleepUntil() - clock.bootNs();
        if (permit.isMine()) {
            if (timeoutNs <= 0) {
                turns.wakeUp();
                return AT_ONCE;
            }
            permit.release();
        }
        state = State.SLEEPS;
        turns.attend(); // they may have left before this thread was seen to sleep
        sleepFor(timeoutNs);
        return AFTER_A_WAIT;
    }

    /** The next wait is on the doorbell, and no longer than until the next check of a leader. */
    private void sleepFor(long timeoutNs) {
        boolean checks = handlers.takeCheck();
        long restNs = Math.max(PollTimes.OVERDUE_NS, timeoutNs);
        idle.sleep(checks ? Math.min(restNs, checkNs) : restNs);
        checkNs = checks ? Math.min(2 * checkNs, times.maxLeaderCheckNs()) : times.leaderCheckNs();
    }

    /** Marks that this thread is about to sleep. Returns until when, on the boot clock. */
    private long sleepUntil() {
        long untilNs;
        do {
            long maxNs = emptySleeps < PollTimes.SLEEPS_BEFORE_IDLE ? times.maxSleepNs() : times.maxIdleSleepNs();
            untilNs = Math.min(clock.bootNs() + maxNs, deadlines.earliestNs());
            turns.sleepUntil(untilNs);
        } while (deadlines.earliestNs() < untilNs); // added before the mark was seen
        return untilNs;
    }

    private int release() {
        turns.endTurn();
        return standsBy();
    }

    private int standsBy() {
        spins = false;
        state = State.STANDS_BY;
        return AT_ONCE;
    }

    /**
     * Sleeps on the doorbell, unless something arrived meanwhile. Callers may take the permit while it sleeps: peers then need not ring, until
     * the caller {@linkplain PollTurns#endTurn ends its turn}.
     */
    private int sleep() {
        turns.readClock();
        long untilNs = sleepUntil();
        long timeoutNs = untilNs - clock.bootNs();
        if (timeoutNs <= 0) {
            turns.wakeUp();
            return AT_ONCE;
        }
        cursors.markAsleep(clock.monotonicNs() + timeoutNs);
        int work = turns.pollAll();
        if (!poller.isActive(self)) { // after a long handler: the mark is that of the thread which has the role
            turns.wakeUp();
            return work == Polled.PERMIT_LOST ? standsBy() : release();
        }
        if (work == Polled.PERMIT_LOST) {
            turns.wakeUp();
            return standsBy();
        }
        if (work == 0 && deadlines.earliestNs() >= untilNs) {
            state = State.SLEEPS;
            permit.release();
            sleepFor(timeoutNs);
            return AFTER_A_WAIT;
        }
        turns.wakeUp();
        cursors.markAwake();
        return AT_ONCE;
    }

    /** Continues after the wait on the doorbell. */
    private int awake() {
        boolean woken = idle.wasWoken();
        boolean isLed = handlers.isLed(clock.bootNs());
        if (woken) {
            emptySleeps = 0;
            poller.reportMessages();
        } else if (!isLed) {
            emptySleeps++;
        }
        rested = turns.takeUnattended() || !woken;
        boolean polls = woken || !isLed || deadlines.earliestNs() <= clock.bootNs();
        if (polls && permit.tryAcquire()) {
            turns.wakeUp();
            state = State.POLLS;
            turns.readClock(); // used to check the deadlines of requests that arrived meanwhile
            cursors.markAwake();
            return poll();
        }
        if (!poller.isActive(self)) {
            turns.wakeUp();
            return standsBy();
        }
        sleepFor(sleepUntil()
                - clock.bootNs()); // another thread polls, and sees when it ends its turn that this one sleeps
        return AFTER_A_WAIT;
    }

    @Override
    public void onClose() {
        if (permit.isMine()) {
            permit.release();
        }
        if (state == State.SLEEPS) {
            turns.wakeUp();
        }
        if (isSpare) {
            poller.removeSpare(self);
        }
    }
}
