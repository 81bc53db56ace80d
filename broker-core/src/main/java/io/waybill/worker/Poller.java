package io.waybill.worker;

import io.waybill.home.Cursors;
import io.waybill.home.Doorbell;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sees to it that somebody polls: a thread of its own, or a thread that waits for an answer and polls for itself meanwhile.
 *
 * <p>The poller's thread steps aside while callers poll, and looks now and then whether one still does. When it is caught in a
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
    private static final long LONGEST_PARK_NS = 50_000_000;
    private static final int MOST_THREADS = 8;
    private static final int MOST_HELPING_POLLS = 8;

    private final String workerName;
    private final Waiting waiting;
    private final Clock clock;
    private final Threads threads;
    private final PollPermit permit;
    private final InlineCalls inline;
    private final Deadlines deadlines;
    private final Cursors cursors;
    private final Doorbell doorbell;
    private final AtomicInteger pollingCallers = new AtomicInteger();
    private final AtomicInteger parkedCallers = new AtomicInteger();
    private final Queue<Thread> spares = new ConcurrentLinkedQueue<>();
    private Inlet inlet;

    // Changes with every call that polled for itself: written by them, read by the poller's thread.
    private final AtomicLong callerPolls = new AtomicLong();
    private volatile boolean sleeping;
    private volatile long sleepingUntilNs;
    private volatile boolean closed;
    private volatile Thread active;
    private int started; // guarded by this
    private long pollerStepsSeen; // of the housekeeper

    Poller(
            String workerName,
            Waiting waiting,
            Clock clock,
            Threads threads,
            PollPermit permit,
            InlineCalls inline,
            Deadlines deadlines,
            Cursors cursors,
            Doorbell doorbell) {
        this.workerName = workerName;
        this.waiting = waiting;
        this.clock = clock;
        this.threads = threads;
        this.permit = permit;
        this.inline = inline;
        this.deadlines = deadlines;
        this.cursors = cursors;
        this.doorbell = doorbell;
    }

    /** Begins to poll. */
    void start(Inlet polled) {
        inlet = polled;
        startThread();
    }

    private synchronized void startThread() {
        started++;
        threads.start(workerName + "-poller-" + started, this::run);
    }

    // ---- the poller's own thread

    private void run() {
        Thread self = Thread.currentThread();
        becomeActive(self);
        long callerPollsSeen = 0;
        long callersUntilNs = clock.monotonicNs();
        while (!closed) {
            if (active != self) {
                standAside(self);
                continue;
            }
            long seen = callerPolls.get();
            if (seen != callerPollsSeen) {
                callerPollsSeen = seen;
                callersUntilNs = clock.monotonicNs() + CALLERS_NS;
            }
            boolean callersAbout = clock.monotonicNs() - callersUntilNs < 0;
            if (pollingCallers.get() > 0 || !permit.tryAcquire()) {
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
                sleeping = false;
                if (permit.isMine()) {
                    permit.release();
                }
            }
        }
    }

    /** Polls with the permit as long as there is work, and leaves it to the callers that poll for themselves. */
    private void pollWhatIsThere() {
        cursors.markAwake();
        int work = pollSafely();
        while (work > 0 && pollingCallers.get() == 0 && !closed) {
            work = pollSafely();
        }
        if (work != Inlet.PERMIT_LOST) {
            permit.release();
        }
    }

    /** Another thread has the role: waits to be given it again. */
    private void standAside(Thread self) {
        spares.add(self);
        while (active != self && !closed) {
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
            int work = pollSafely();
            if (work == Inlet.PERMIT_LOST) {
                return;
            }
            if (closed || pollingCallers.get() > 0) {
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
        inlet.expire();
        long untilNs = Math.min(clock.bootNs() + LONGEST_SLEEP_NS, deadlines.earliestNs());
        long timeoutNs = untilNs - clock.bootNs();
        if (timeoutNs <= 0) {
            return true;
        }
        cursors.markAsleep(clock.monotonicNs() + timeoutNs);
        sleepingUntilNs = untilNs;
        sleeping = true;
        int work = pollAllSafely();
        if (work == Inlet.PERMIT_LOST) {
            sleeping = false;
            return false;
        }
        if (work == 0 && deadlines.earliestNs() >= untilNs) {
            permit.release();
            doorbell.await(timeoutNs);
            sleeping = false;
            if (!permit.tryAcquire()) {
                return false; // a caller polls: it saw to the mark
            }
        }
        sleeping = false;
        cursors.markAwake();
        return true;
    }

    private int pollSafely() {
        try {
            return inlet.poll();
        } catch (Throwable e) { // a fault while reading must not end the thread that reads
            LOG.error("The poller of {} met an error and goes on", workerName, e);
            return permit.isMine() ? 0 : Inlet.PERMIT_LOST;
        }
    }

    private int pollAllSafely() {
        try {
            return inlet.pollAll();
        } catch (Throwable e) { // likewise
            LOG.error("The poller of {} met an error and goes on", workerName, e);
            return permit.isMine() ? 0 : Inlet.PERMIT_LOST;
        }
    }

    // ---- threads that wait for an answer

    /** Whether this thread may wait for other workers: not while it polls, nor inside a non-blocking handler. */
    boolean mayBlock() {
        return !permit.isMine() && !inline.isInside();
    }

    void requireMayBlock() {
        if (!mayBlock()) {
            throw new IllegalStateException("a non-blocking handler or a listener must not wait for another worker:"
                    + " use callAsync, or declare the handler without @NonBlocking");
        }
    }

    /** Waits until the call is settled, polling meanwhile. */
    void await(BlockingCall call) {
        pollingCallers.getAndIncrement();
        try {
            pollFor(call);
        } finally {
            callerPolls.lazySet(callerPolls.get() + 1); // any change will do, also when two threads make the same
            pollingCallers.getAndDecrement();
        }
        if (!call.isSettled()) {
            parkFor(call);
        } else if (parkedCallers.get() > 0) {
            wakePoller();
        }
    }

    private void pollFor(BlockingCall call) {
        long budgetNs = waiting.callerNs();
        long sinceNs = 0;
        boolean mine = false;
        while (!call.isSettled() && !closed) {
            if (!mine && permit.tryAcquire()) {
                mine = true;
                if (sleeping) {
                    cursors.markAwake();
                }
            }
            if (mine) {
                int work = pollSafely();
                if (work == Inlet.PERMIT_LOST) {
                    mine = false;
                }
                if (work != 0) {
                    continue;
                }
            }
            if (waiting == Waiting.SPIN) {
                Thread.onSpinWait();
                continue;
            }
            long nowNs = clock.monotonicNs();
            sinceNs = sinceNs == 0 ? nowNs : sinceNs;
            if (nowNs - sinceNs >= budgetNs) {
                break;
            } else if (nowNs - sinceNs < waiting.spinNs()) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
        if (mine) {
            stopPolling();
        }
    }

    /** Gives the permit back. When the poller sleeps, peers must ring again from now on. */
    private void stopPolling() {
        if (sleeping) {
            cursors.markAsleep(sleepingUntilNs);
            if (pollAllSafely() == Inlet.PERMIT_LOST) {
                return;
            }
        }
        permit.release();
    }

    private void parkFor(BlockingCall call) {
        parkedCallers.getAndIncrement();
        boolean interrupted = false;
        try {
            while (!call.isSettled()) {
                wakePollerIfStandingBy();
                call.park(LONGEST_PARK_NS);
                interrupted |= Thread.interrupted(); // the outcome is what counts; the interrupt is kept for later
            }
        } finally {
            parkedCallers.getAndDecrement();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void wakePollerIfStandingBy() {
        if (!sleeping && permit.isFree()) {
            wakePoller();
        }
    }

    private void wakePoller() {
        LockSupport.unpark(active);
    }

    /** Polls a little, or lets others run: for a caller that waits for room. */
    void helpBriefly() {
        pollingCallers.getAndIncrement();
        try {
            if (permit.tryAcquire()) {
                if (sleeping) {
                    cursors.markAwake();
                }
                int work = pollSafely();
                int done = work;
                for (int i = 1; i < MOST_HELPING_POLLS && work > 0; i++) {
                    work = pollSafely();
                    done |= work;
                }
                if (work != Inlet.PERMIT_LOST) {
                    stopPolling();
                }
                if (done != 0) {
                    return;
                }
            }
        } finally {
            callerPolls.lazySet(callerPolls.get() + 1); // any change will do, also when two threads make the same
            pollingCallers.getAndDecrement();
        }
        if (waiting == Waiting.SPIN) {
            Thread.onSpinWait();
        } else {
            Thread.yield();
        }
    }

    // ---- others

    /** A call was sent that ends at this time; 0 for never. */
    void onDeadline(long deadlineNs) {
        if (deadlines.add(deadlineNs) && sleeping && deadlineNs < sleepingUntilNs) {
            wake();
        }
    }

    /** Something changed that only a poll can see. */
    void wake() {
        if (sleeping) {
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
            wakePoller();
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
        if (!stuck || !permit.isFree() || closed) {
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
        closed = true;
        wake();
        LockSupport.unpark(active);
        spares.forEach(LockSupport::unpark);
    }
}
