package io.waybill.worker.poll;

import io.waybill.home.cursor.Cursors;
import io.waybill.host.Threads;
import io.waybill.host.failure.MappedFaults;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * State shared by the poller's thread and the callers that poll for themselves, and the turn of polling that both take
 * with the {@link PollPermit}.
 *
 * <p><b>Threads.</b> Any.
 */
public final class PollTurns {

    private static final Logger LOG = LoggerFactory.getLogger(PollTurns.class);

    private final String workerName;
    private final PollPermit permit;
    private final Cursors cursors;
    private final FaultAlarm faults;
    private final Threads threads;
    private final PollTimes times;
    private final SpinBalance balance;
    private final AtomicInteger pollingCallers = new AtomicInteger();
    private Polled polled; // set before the first thread polls
    // Thread that sleeps on the doorbell, null for none; and the time until which it sleeps, on the boot clock. Written
    // by that thread, read by callers.
    private final AtomicReference<Thread> sleeper = new AtomicReference<>();
    private volatile long sleepingUntilNs;
    private volatile boolean unattended; // set by the housekeeper, which then wakes the poller; cleared by the poller
    private volatile long foundLate; // by the poller's thread
    private volatile boolean closed;
    // By the housekeeper: the listener call that it saw last, and the time at which it first saw it.
    private long listenerSeen;
    private long listenerSinceNs;

    public PollTurns(String workerName, PollPermit permit, Cursors cursors, FaultAlarm faults, PollTimes times) {
        this.workerName = workerName;
        this.permit = permit;
        this.cursors = cursors;
        this.faults = faults;
        this.times = times;
        this.balance = new SpinBalance(times);
        this.threads = faults.threads();
    }

    void open(Polled polled) {
        this.polled = polled;
    }

    void close() {
        closed = true;
    }

    boolean isClosed() {
        return closed;
    }

    /** Returns the balance that decides whether threads poll. */
    SpinBalance balance() {
        return balance;
    }

    PollPermit permit() {
        return permit;
    }

    Threads threads() {
        return threads;
    }

    // ---- callers

    void callerBegins() {
        pollingCallers.getAndIncrement();
    }

    /**
     * Begins the polling of a caller if a thread sleeps on the doorbell and none polls, and marks that no peer needs to
     * ring.
     */
    boolean tryBegin() {
        if (!isSleeping() || !permit.isFree()) {
            return false;
        }
        callerBegins();
        cursors.markPolled();
        return true;
    }

    /** Surfaces the faults of the caller's polls before it continues with other work. */
    void callerEnds() {
        surfaceFaults();
        pollingCallers.getAndDecrement();
        attend();
    }

    boolean callersPoll() {
        return pollingCallers.get() > 0;
    }

    // ---- sleep

    /** Marks that the calling thread, which holds the permit, is about to sleep, or sleeps; peers ring from now on. */
    void sleepUntil(long bootNs) {
        sleepingUntilNs = bootNs;
        sleeper.set(threads.current());
    }

    /**
     * Marks that the calling thread does not sleep. Returns whether it was marked as asleep: another thread may sleep
     * in its place.
     */
    boolean wakeUp() {
        return isSleeping() && sleeper.compareAndSet(threads.current(), null);
    }

    /** Returns whether a thread sleeps on the doorbell, or is about to. */
    boolean isSleeping() {
        return sleeper.get() != null;
    }

    long sleepingUntilNs() {
        return sleepingUntilNs;
    }

    /**
     * Returns whether a thread sleeps on the doorbell, without rings of peers, while no other thread polls: the thread
     * that took the turn is inside a handler that should return soon, or was caught in a listener.
     */
    boolean isUnattended() {
        return isSleeping() && permit.isFree() && !cursors.isMarkedAsleep();
    }

    /**
     * Reads records that came without a ring, and lets peers ring again, if a thread sleeps and no other thread polls.
     * Called by each thread that has released the permit, or might have taken it and did not, and by the thread that
     * has just fallen asleep: the last of them sees what the others did.
     */
    void attend() {
        if (tryAcquireUnattended()) {
            endTurn();
        }
    }

    private boolean tryAcquireUnattended() {
        return isUnattended() && !callersPoll() && permit.tryAcquire();
    }

    /** Marks that the housekeeper is about to wake the poller. */
    void seenUnattended() {
        unattended = true;
    }

    /** Returns whether the housekeeper woke the poller, and clears the mark. */
    boolean takeUnattended() {
        boolean seen = unattended;
        if (seen) {
            unattended = false;
        }
        return seen;
    }

    /**
     * Counts records that were found after a rest that no ring and no release of the permit ended. For the poller's
     * thread.
     */
    void countFoundLate() {
        foundLate++;
    }

    long foundLate() {
        return foundLate;
    }

    // ---- the turn

    /**
     * Marks that a caller took the permit: while another thread sleeps, peers need not ring for records that the caller
     * finds itself.
     */
    void beginTurn() {
        if (isSleeping()) {
            cursors.markPolled();
            polled.readClock(); // used to check the deadlines of requests that arrived meanwhile
        }
    }

    /**
     * Releases the permit of a caller. If a thread sleeps on the doorbell, peers must ring again from now on. Records
     * that they wrote before they see this are read here, because no peer rings for them, and one poll reads only a
     * part of a burst. A peer that rings ends that sleep, and with it this caller's turn.
     */
    void endTurn() {
        do {
            int work = isSleeping() ? 1 : 0;
            while (work != 0 && isSleeping()) {
                cursors.markAsleep();
                work = pollAll();
                if (work == Polled.PERMIT_LOST) {
                    return;
                }
            }
            permit.release();
        } while (tryAcquireUnattended()); // a thread may have fallen asleep meanwhile
    }

    /** Polls like {@link Polled#poll()}; contains all errors. */
    int poll() {
        try {
            return polled.poll();
        } catch (Throwable e) { // a fault while reading must not end the thread that reads
            return failed(e);
        }
    }

    /** Polls like {@link Polled#pollAll()}; contains all errors. */
    int pollAll() {
        try {
            return polled.pollAll();
        } catch (Throwable e) { // as in poll()
            return failed(e);
        }
    }

    /** Returns {@link Polled#mayHaveWork()}; true when that can't be determined. */
    boolean mayHaveWork() {
        try {
            return polled.mayHaveWork();
        } catch (Throwable e) { // as in poll()
            failed(e);
            return true;
        }
    }

    /** Reads the clock; the next poll completes calls that are overdue. */
    void readClock() {
        polled.readClock();
    }

    /**
     * Takes the permit from a thread that is blocked in a listener, so that another thread may poll. For the
     * housekeeper.
     *
     * @param nowNs on the monotonic clock
     */
    void relieve(long nowNs) {
        long inListener = permit.foreign();
        if (inListener == 0 || inListener != listenerSeen) {
            listenerSeen = inListener;
            listenerSinceNs = nowNs;
            return;
        }
        if (nowNs - listenerSinceNs < times.listenerLimitNs()) {
            return;
        }
        Thread caught = permit.revoke(inListener);
        if (caught != null) {
            LOG.warn(
                    "A listener of {} does not return on {}, for {} ms at least; another thread polls from now on",
                    workerName,
                    caught.getName(),
                    (nowNs - listenerSinceNs) / 1_000_000,
                    ThreadStack.of(caught));
        }
    }

    /** Ends a turn that failed outside of a poll, and releases the permit in any case. */
    void stopAfter(Throwable e) {
        try {
            report(e);
            if (permit.isMine()) {
                endTurn();
            }
        } finally {
            if (permit.isMine()) {
                permit.release();
            }
        }
    }

    /** Surfaces the faults of this thread before it returns to unrelated code. */
    void surfaceFaults() {
        faults.surface();
    }

    /** Unparks a thread, and reports an earlier fault that surfaces meanwhile. */
    void unpark(Thread waiting) {
        faults.unpark(waiting);
    }

    /** Reports a fault whose file is unknown. */
    void report(Throwable e) {
        faults.report(e);
    }

    private int failed(Throwable e) {
        if (e instanceof PermitRevokedException) {
            return Polled.PERMIT_LOST;
        }
        if (MappedFaults.is(e)) {
            faults.raise();
        } else {
            LOG.error("The poller of {} met an error and goes on", workerName, e);
        }
        return permit.isMine() ? 0 : Polled.PERMIT_LOST;
    }
}
