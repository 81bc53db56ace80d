package io.waybill.worker.poll;

import io.waybill.home.Doorbell;
import io.waybill.home.cursor.Cursors;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import org.agrona.concurrent.AgentTerminationException;

/**
 * Loop of a thread of the {@link Poller} while it has the role: polls while it has the permit, and otherwise waits for
 * it, or sleeps on the doorbell. No error ends it: without it, only callers read messages.
 *
 * <p><b>Threads.</b> Belongs to its thread.
 */
final class PollerLoop implements Runnable {

    /** Next step of the loop. */
    private enum State {
        /** Acquires the permit. */
        STANDS_BY,
        /** Polls, with the permit. */
        POLLS,
        /** Checks what ended the sleep on the doorbell, for which it released the permit. */
        SLEPT
    }

    private final Poller poller;
    private final PollTimes times;
    private final Clock clock;
    private final Threads threads;
    private final PollTurns turns;
    private final PollPermit permit;
    private final SpinBalance balance;
    private final HandlerPolling handlers;
    private final HandlerSlots invocations;
    private final Deadlines deadlines;
    private final Cursors cursors;
    private final Doorbell doorbell;
    private HandlerSlot self; // slot of this thread; null before it runs
    private boolean woken; // whether its last sleep was ended, by a ring or another thread
    private boolean rested; // whether it rested until the timeout, and has not polled since
    private long checkNs; // time until the next check of a leader
    private int emptySleeps; // number of sleeps in a row that nothing has ended
    private long idleSinceNs; // time of the first poll in a row that found nothing; 0 while polls find something
    private boolean spins; // whether it spins since it last found something

    PollerLoop(PollContext context, Poller poller) {
        this.poller = poller;
        this.times = context.times;
        this.checkNs = times.leaderCheckNs();
        this.clock = context.clock;
        this.threads = context.threads;
        this.turns = context.turns;
        this.permit = turns.permit();
        this.balance = turns.balance();
        this.handlers = poller.handlers();
        this.invocations = context.invocations;
        this.deadlines = context.deadlines();
        this.cursors = context.cursors;
        this.doorbell = context.doorbell;
    }

    @Override
    public void run() {
        self = invocations.own();
        poller.begins(self);
        State next = State.STANDS_BY;
        Throwable failure = null;
        boolean recovers = false;
        while (!turns.isClosed() && poller.isActive(self)) {
            try {
                recovers = failure != null;
                if (recovers) {
                    Throwable before = failure;
                    failure = null;
                    recover(before);
                    recovers = false;
                }
                Thread.interrupted(); // a handler may have left the interrupt set, which would end each wait
                threads.endRound();
                next = switch (next) {
                    case STANDS_BY -> standBy();
                    case POLLS -> poll();
                    case SLEPT -> awake();
                };
            } catch (Throwable e) { // most likely a fault in a peer's file, which JDK 17 may report late, and anywhere
                if (recovers && e instanceof AgentTerminationException ended) { // the rest ended so: by the host
                    throw ended;
                }
                failure = e;
                next = State.STANDS_BY;
            }
        }
        end();
    }

    private void recover(Throwable failure) {
        spins = false;
        try {
            turns.stopAfter(failure);
        } finally { // logging may fail, too, as where the memory is used up
            turns.wakeUp();
            threads.park(this, PollTimes.ERROR_REST_NS); // the error may surface again immediately
        }
    }

    private void end() {
        try {
            turns.wakeUp();
        } finally {
            if (permit.isMine()) {
                permit.release();
            }
        }
    }

    private State standBy() {
        if (handlers.isLed(clock.bootNs())) {
            return handOver();
        }
        if (!permit.tryAcquireOrWait()) {
            threads.park(this, PollTimes.STANDBY_NS);
            rested = permit.waitsNoMore();
            return State.STANDS_BY;
        }
        cursors.markAwake();
        idleSinceNs = 0;
        return State.POLLS;
    }

    /**
     * Polls once, with the permit, which it keeps until a caller wants it, another thread has the role, or the worker
     * closes.
     */
    private State poll() {
        int work = turns.poll();
        if (work == Polled.PERMIT_LOST) {
            return lost();
        }
        if (rested && work > 0) {
            turns.countFoundLate();
        }
        rested = false;
        if (turns.isClosed() || !poller.isActive(self)) {
            turns.endTurn();
            return lost();
        }
        if (handlers.isLed() || turns.callersPoll()) {
            return handOver();
        }
        if (work > 0) {
            idleSinceNs = 0;
            if (spins) {
                spins = false;
                balance.saved();
            }
            return State.POLLS;
        }
        if (times.spins()) {
            threads.spin();
            return State.POLLS;
        }
        long nowNs = clock.monotonicNs();
        if (idleSinceNs == 0) {
            idleSinceNs = nowNs;
        }
        long idleNs = nowNs - idleSinceNs;
        boolean isExpected = handlers.takePassedOn(); // whether a request went to a thread that polls after it
        if (idleNs < times.spinNs() && !isExpected && !balance.sleepsAtOnce(nowNs)) {
            spins = true;
            threads.spin();
            return State.POLLS;
        }
        if (spins) {
            spins = false;
            balance.lost(idleNs, nowNs);
        }
        return sleep();
    }

    private State lost() {
        spins = false;
        return State.STANDS_BY;
    }

    /**
     * Leaves polling to callers, or to a leader, and sleeps on the doorbell. No peer needs to ring, until
     * {@linkplain PollTurns#callerEnds the last of them} has left.
     */
    private State handOver() {
        long timeoutNs = sleepUntil() - clock.bootNs();
        if (permit.isMine()) {
            if (timeoutNs <= 0) {
                turns.wakeUp();
                return State.POLLS;
            }
            permit.release();
        }
        turns.attend(); // callers may have left before this thread was seen to sleep
        return sleepFor(timeoutNs);
    }

    /** Sleeps on the doorbell, no longer than until the next check of a leader. */
    private State sleepFor(long timeoutNs) {
        boolean checks = handlers.takeCheck();
        long restNs = Math.max(PollTimes.OVERDUE_NS, timeoutNs);
        long sleepNs = checks ? Math.min(restNs, checkNs) : restNs;
        checkNs = checks ? Math.min(2 * checkNs, times.maxLeaderCheckNs()) : times.leaderCheckNs();
        woken = doorbell.await(sleepNs);
        return State.SLEPT;
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

    /**
     * Sleeps on the doorbell, unless something arrived meanwhile. Callers may take the permit while it sleeps: peers
     * then need not ring, until the caller {@linkplain PollTurns#endTurn ends its turn}.
     */
    private State sleep() {
        turns.readClock();
        long untilNs = sleepUntil();
        long timeoutNs = untilNs - clock.bootNs();
        if (timeoutNs <= 0) {
            turns.wakeUp();
            return State.POLLS;
        }
        cursors.markAsleep(clock.monotonicNs() + timeoutNs);
        int work = turns.pollAll();
        if (work == Polled.PERMIT_LOST) {
            turns.wakeUp();
            return lost();
        }
        if (!poller.isActive(self)) { // after a long handler: the mark belongs to the thread which has the role
            turns.wakeUp();
            turns.endTurn();
            return lost();
        }
        if (work == 0 && deadlines.earliestNs() >= untilNs) {
            permit.release();
            return sleepFor(timeoutNs);
        }
        turns.wakeUp();
        cursors.markAwake();
        return State.POLLS;
    }

    /** Continues after a sleep. */
    private State awake() {
        boolean isLed = handlers.isLed(clock.bootNs());
        if (woken) {
            emptySleeps = 0;
            poller.reportMessages();
        } else if (!isLed) {
            emptySleeps++;
        }
        rested = turns.takeUnattended() || !woken;
        boolean polls = woken || !isLed || deadlines.earliestNs() <= clock.bootNs();
        if (polls && (permit.tryAcquire() || woken && acquiresAfterHolder())) {
            turns.wakeUp();
            turns.readClock(); // used to check the deadlines of requests that arrived meanwhile
            cursors.markAwake();
            return poll();
        }
        return sleepFor(sleepUntil()
                - clock.bootNs()); // another thread polls, and sees when it ends its turn that this one sleeps
    }

    /**
     * Waits until the holder releases the permit: its last check may have come before the record that this thread was
     * rung for. A thread that takes it next checks again. Returns whether this one does.
     */
    private boolean acquiresAfterHolder() {
        while (!turns.isClosed()) {
            if (permit.tryAcquireOrWait()) {
                return true;
            }
            threads.park(this, PollTimes.STANDBY_NS);
            boolean isReleased = !permit.waitsNoMore();
            if (isReleased) {
                return permit.tryAcquire();
            }
        }
        return false;
    }
}
