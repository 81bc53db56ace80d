package io.waybill.worker;

import io.waybill.home.Cursors;
import io.waybill.home.Doorbell;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that polls when nobody else does.
 *
 * <p>It steps aside while {@link WaitingCallers} poll, and looks now and then whether one still does. When it is caught in a
 * non-blocking handler that does not come back, a second thread takes its role; the first becomes the spare when it returns.
 *
 * <p><b>Threads.</b> Any.
 */
final class Poller {

    private static final Logger LOG = LoggerFactory.getLogger(Poller.class);
    private static final long STANDBY_NS = 500_000;
    /** So long after a caller polled for itself the poller only looks now and then: it would take the processor from callers. */
    private static final long CALLERS_NS = 10_000_000;

    private static final long LONGEST_SLEEP_NS = 500_000_000;
    private static final int MOST_THREADS = 8;

    private final String workerName;
    private final Waiting waiting;
    private final Clock clock;
    private final Threads threads;
    private final PollTurns turns;
    private final PollPermit permit;
    private final InlineCalls inline;
    private final Deadlines deadlines;
    private final Cursors cursors;
    private final Doorbell doorbell;
    private final Queue<Thread> spares = new ConcurrentLinkedQueue<>();
    // Set by the thread that takes the role, or the one that gives it; read by those and by who wakes it.
    private volatile Thread active;
    private int started; // guarded by this
    private long pollerStepsSeen; // of the housekeeper

    Poller(
            String workerName,
            Waiting waiting,
            Clock clock,
            Threads threads,
            PollTurns turns,
            InlineCalls inline,
            Deadlines deadlines,
            Cursors cursors,
            Doorbell doorbell) {
        this.workerName = workerName;
        this.waiting = waiting;
        this.clock = clock;
        this.threads = threads;
        this.turns = turns;
        this.permit = turns.permit();
        this.inline = inline;
        this.deadlines = deadlines;
        this.cursors = cursors;
        this.doorbell = doorbell;
    }

    /** Begins to poll. */
    void start(Inlet polled) {
        turns.open(polled);
        startThread();
    }

    private synchronized void startThread() {
        started++;
        threads.start(workerName + "-poller-" + started, this::run);
    }

    private void run() {
        Thread self = Thread.currentThread();
        becomeActive(self);
        long callerPollsSeen = 0;
        long callersUntilNs = clock.monotonicNs();
        while (!turns.isClosed()) {
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
                    pollUntilDisplaced();
                }
            } catch (InternalError e) { // JDK 17 may tell of a fault in a peer's file late, and anywhere
                LOG.error("The poller of {} met a fault in a mapped file and goes on", workerName, e);
                turns.wakeUp();
                if (permit.isMine()) {
                    permit.release();
                }
            }
        }
    }

    /** Polls with the permit as long as there is work, and leaves it to the callers that poll for themselves. */
    private void pollWhatIsThere() {
        cursors.markAwake();
        int work = turns.poll();
        while (work > 0 && !turns.callersPoll() && !turns.isClosed()) {
            work = turns.poll();
        }
        if (work != Inlet.PERMIT_LOST) {
            permit.release();
        }
    }

    /** Another thread has the role: waits to be given it again. */
    private void standAside(Thread self) {
        spares.add(self);
        while (active != self && !turns.isClosed()) {
            LockSupport.park(this);
        }
        spares.remove(self);
    }

    private void becomeActive(Thread thread) {
        active = thread;
        inline.poller(thread);
    }

    /** Polls with the permit until a caller wants it, another thread has it, or the worker closes. */
    private void pollUntilDisplaced() {
        cursors.markAwake();
        long idleSinceNs = 0;
        while (true) {
            int work = turns.poll();
            if (work == Inlet.PERMIT_LOST) {
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
                } else if (!sleep()) {
                    return;
                }
            }
        }
    }

    /** Sleeps on the doorbell, while whoever wants it may take the permit. Returns whether this thread has it again. */
    private boolean sleep() {
        turns.expire();
        long untilNs = Math.min(clock.bootNs() + LONGEST_SLEEP_NS, deadlines.earliestNs());
        long timeoutNs = untilNs - clock.bootNs();
        if (timeoutNs <= 0) {
            return true;
        }
        cursors.markAsleep(clock.monotonicNs() + timeoutNs);
        turns.sleepUntil(untilNs);
        int work = turns.pollAll();
        if (work == Inlet.PERMIT_LOST) {
            turns.wakeUp();
            return false;
        }
        if (work == 0 && deadlines.earliestNs() >= untilNs) {
            permit.release();
            doorbell.await(timeoutNs);
            turns.wakeUp();
            if (!permit.tryAcquire()) {
                return false; // a caller polls: it saw to the mark
            }
            turns.expire(); // reads the clock, by which deadlines of what came meanwhile are judged
        }
        turns.wakeUp();
        cursors.markAwake();
        return true;
    }

    /** Ends the rest of a poller that stands by. */
    void unpark() {
        LockSupport.unpark(active);
    }

    /** The same when nobody polls. */
    void unparkIfStandingBy() {
        if (!turns.isSleeping() && permit.isFree()) {
            unpark();
        }
    }

    /** A call was sent that ends at this time; 0 for never. */
    void onDeadline(long deadlineNs) {
        if (deadlines.add(deadlineNs) && turns.isSleeping() && deadlineNs < turns.sleepingUntilNs()) {
            wake();
        }
    }

    /** Something changed that only a poll can see. */
    void wake() {
        if (turns.isSleeping()) {
            try {
                doorbell.ring();
            } catch (IOException e) {
                LOG.warn(
                        "The poller of {} could not be woken and will look within {} ms",
                        workerName,
                        LONGEST_SLEEP_NS / 1_000_000,
                        e);
            }
        } else {
            unpark();
        }
    }

    /** Whether the poller's thread is inside a handler now. */
    boolean isInHandler() {
        return (inline.pollerSteps() & 1) == 1;
    }

    /**
     * Gives the role to another thread when the poller's is in the same handler as at the last call of this, and nobody polls. For the
     * housekeeper.
     */
    void relieve() {
        long steps = inline.pollerSteps();
        boolean stuck = steps == pollerStepsSeen && (steps & 1) == 1;
        pollerStepsSeen = steps;
        if (!stuck || !permit.isFree() || turns.isClosed()) {
            return;
        }
        Thread spare = spares.peek();
        if (spare != null) {
            becomeActive(spare);
            LockSupport.unpark(spare);
            return;
        }
        synchronized (this) {
            if (started < MOST_THREADS) {
                startThread();
            }
        }
    }

    /** Ends the threads, and every wait. */
    void close() {
        turns.close();
        wake();
        LockSupport.unpark(active);
        spares.forEach(LockSupport::unpark);
    }
}
