package io.waybill.worker.poll;

import io.waybill.home.Doorbell;
import io.waybill.home.cursor.Cursors;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Background poller. Yields the poll permit to callers that poll for their own responses, and takes it back when none
 * does.
 *
 * <p>When it is blocked in a non-blocking handler, a second thread takes its role; the first becomes the spare when it
 * returns.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Poller {

    private static final Logger LOG = LoggerFactory.getLogger(Poller.class);
    private static final long STANDBY_NS = 500_000;
    /**
     * Time after a caller's poll in which the poller checks only at intervals: it would take the processor from
     * callers.
     */
    private static final long CALLERS_NS = 10_000_000;

    private static final long ERROR_REST_NS = 1_000_000;
    private static final long MAX_SLEEP_NS = 500_000_000;

    private final String workerName;
    private final Waiting waiting;
    private final Clock clock;
    private final Threads threads;
    private final PollTurns turns;
    private final PollPermit permit;
    private final HandlerSlots invocations;
    private final Deadlines deadlines;
    private final Cursors cursors;
    private final Doorbell doorbell;
    private final Queue<HandlerSlot> spares = new ConcurrentLinkedQueue<>();
    // Set by the thread that takes or assigns the role; read by those and by threads that wake the poller.
    private volatile HandlerSlot active;
    private volatile boolean starting; // set by the thread that starts another one for the role, cleared by that thread
    private int started; // by the housekeeper, and before it runs by the starting thread
    private HandlerSlot roleSeen; // these two by the housekeeper
    private long turnSeen;

    public Poller(
            String workerName,
            Waiting waiting,
            Clock clock,
            Threads threads,
            PollTurns turns,
            HandlerSlots invocations,
            Deadlines deadlines,
            Cursors cursors,
            Doorbell doorbell) {
        this.workerName = workerName;
        this.waiting = waiting;
        this.clock = clock;
        this.threads = threads;
        this.turns = turns;
        this.permit = turns.permit();
        this.invocations = invocations;
        this.deadlines = deadlines;
        this.cursors = cursors;
        this.doorbell = doorbell;
    }

    /** Starts polling. */
    public void start(Polled polled) {
        turns.open(polled);
        startThread();
    }

    private void startThread() {
        starting = true;
        started++;
        threads.start(workerName + "-poller-" + started, this::run);
    }

    private void run() {
        HandlerSlot self = invocations.own();
        active = self;
        starting = false;
        long callerPollsSeen = 0;
        long callersUntilNs = clock.monotonicNs();
        while (!turns.isClosed()) {
            Thread.interrupted(); // a handler may have left the interrupt set, and park would return at once
            if (active != self) {
                standAside(self);
                continue;
            }
            long seen = turns.callerPolls();
            if (seen != callerPollsSeen) {
                callerPollsSeen = seen;
                callersUntilNs = clock.monotonicNs() + CALLERS_NS;
            }
            boolean callersAbout = clock.monotonicNs() - callersUntilNs < 0;
            if (turns.callersPoll() || !permit.tryAcquire()) {
                LockSupport.parkNanos(this, STANDBY_NS);
                continue;
            }
            try {
                if (callersAbout) {
                    pollWhatIsThere();
                    LockSupport.parkNanos(this, STANDBY_NS);
                } else {
                    pollUntilDisplaced(self);
                }
            } catch (Throwable e) { // JDK 17 may report a fault in a peer's file late, and anywhere
                turns.stopAfter(e);
                turns.wakeUp();
                LockSupport.parkNanos(this, ERROR_REST_NS); // it may surface again at once
            }
        }
    }

    /** Polls with the permit as long as there is work, and yields it to callers that poll for themselves. */
    private void pollWhatIsThere() {
        cursors.markAwake();
        int work = turns.poll();
        while (work > 0 && !turns.callersPoll() && !turns.isClosed()) {
            work = turns.poll();
        }
        if (work != Polled.PERMIT_LOST) {
            permit.release();
        }
    }

    /** Waits while another thread has the role. */
    private void standAside(HandlerSlot self) {
        spares.add(self);
        while (active != self && !turns.isClosed()) {
            LockSupport.park(this);
            Thread.interrupted(); // a handler may have left the interrupt set, and park would return at once
        }
        spares.remove(self);
    }

    /** Polls with the permit until a caller wants it, another thread has it, or the worker closes. */
    private void pollUntilDisplaced(HandlerSlot self) {
        cursors.markAwake();
        long idleSinceNs = 0;
        while (true) {
            int work = turns.poll();
            if (work == Polled.PERMIT_LOST) {
                return;
            }
            if (turns.isClosed() || turns.callersPoll()) {
                permit.release();
                return;
            }
            if (work > 0) {
                idleSinceNs = 0;
            } else if (waiting == Waiting.SPIN) {
                Thread.onSpinWait();
            } else {
                long nowNs = clock.monotonicNs();
                if (idleSinceNs == 0) {
                    idleSinceNs = nowNs;
                }
                long idleNs = nowNs - idleSinceNs;
                if (idleNs < waiting.spinNs()) {
                    Thread.onSpinWait();
                } else if (idleNs < waiting.spinNs() + waiting.yieldNs()) {
                    Thread.yield();
                } else if (active != self) { // one at a time sleeps
                    permit.release();
                    return;
                } else if (!sleep()) {
                    return;
                }
            }
        }
    }

    /** Sleeps on the doorbell, while other threads may take the permit. Returns whether this thread has it again. */
    private boolean sleep() {
        turns.readClock();
        long untilNs = Math.min(clock.bootNs() + MAX_SLEEP_NS, deadlines.earliestNs());
        long timeoutNs = untilNs - clock.bootNs();
        if (timeoutNs <= 0) {
            return true;
        }
        cursors.markAsleep(clock.monotonicNs() + timeoutNs);
        turns.sleepUntil(untilNs);
        int work = turns.pollAll();
        if (work == Polled.PERMIT_LOST) {
            turns.wakeUp();
            return false;
        }
        if (work == 0 && deadlines.earliestNs() >= untilNs) {
            permit.release();
            doorbell.await(timeoutNs);
            turns.wakeUp();
            if (!permit.tryAcquire()) {
                return false; // a caller polls: it updated the mark
            }
            turns.readClock(); // used to check the deadlines of requests that arrived meanwhile
        }
        turns.wakeUp();
        cursors.markAwake();
        return true;
    }

    /** Wakes a poller that stands by. */
    void unpark() {
        HandlerSlot role = active;
        if (role != null) {
            LockSupport.unpark(role.thread());
        }
    }

    /** Wakes a poller that stands by, if no thread polls. */
    void unparkIfStandingBy() {
        if (!turns.isSleeping() && permit.isFree()) {
            unpark();
        }
    }

    /** Surfaces the faults of this thread's sends, before it returns to its caller. */
    public void surfaceFaults() {
        turns.surfaceFaults();
    }

    /** Registers the deadline of a call that was sent; 0 for none. */
    public void onDeadline(long deadlineNs) {
        if (deadlines.add(deadlineNs) && turns.isSleeping() && deadlineNs < turns.sleepingUntilNs()) {
            wake();
        }
    }

    /** Reports a fault that surfaced in the calling thread; the next poll finds the file. */
    public void report(Throwable fault) {
        turns.report(fault);
    }

    /** Wakes the poller after a change that only a poll can see. */
    public void wake() {
        if (turns.isSleeping()) {
            try {
                doorbell.ring();
            } catch (IOException e) {
                LOG.warn(
                        "The poller of {} could not be woken and will look within {} ms",
                        workerName,
                        MAX_SLEEP_NS / 1_000_000,
                        e);
            }
        } else {
            unpark();
        }
    }

    /** Returns whether the poller's thread is inside a handler now. */
    public boolean isInHandler() {
        HandlerSlot role = active;
        return role != null && role.innermost() != null;
    }

    /**
     * Assigns the role to another thread when the poller's thread serves the same request at two checks, or is blocked
     * in a listener, and no thread polls. For the housekeeper. A handler blocks one thread at most: until it returns,
     * its other requests don't run on a poller.
     */
    public void relieve() {
        turns.relieve(clock.monotonicNs());
        HandlerSlot role = active;
        boolean caught = role != null && (isInTheSameTurn(role) || permit.isCaught(role.thread()));
        if (!caught || starting || !permit.isFree() || turns.isClosed()) {
            return;
        }
        HandlerSlot spare = spares.peek();
        if (spare != null) {
            active = spare;
            LockSupport.unpark(spare.thread());
            return;
        }
        try {
            startThread();
        } catch (OutOfMemoryError e) { // the host gives no more threads now; callers still poll for themselves
            starting = false;
            LOG.warn("The poller of {} is caught in a handler, and the host gives no other thread", workerName, e);
        }
    }

    /** Returns whether the poller's thread serves the same request as at the last check. */
    private boolean isInTheSameTurn(HandlerSlot role) {
        long turn = role.inlineTurn();
        boolean same = turn != 0 && turn == turnSeen && role == roleSeen;
        roleSeen = role;
        turnSeen = turn;
        return same;
    }

    /**
     * Takes the permit from a thread that is blocked in a listener. For the thread that closes, after the housekeeper
     * has ended.
     */
    public void relieveOfListener() {
        turns.relieve(clock.monotonicNs());
    }

    /** Ends the threads, and every wait. */
    public void close() {
        turns.close();
        wake();
        unpark();
        spares.forEach(spare -> LockSupport.unpark(spare.thread()));
    }
}
