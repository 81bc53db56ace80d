package io.waybill.worker.poll;

import io.waybill.home.cursor.Cursors;
import io.waybill.host.failure.MappedFaults;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the poller's thread and the callers that poll for themselves know of each other, and the turn at polling that both take with the
 * {@link PollPermit}.
 *
 * <p><b>Threads.</b> Any.
 */
public final class PollTurns {

    private static final Logger LOG = LoggerFactory.getLogger(PollTurns.class);
    /** A listener that takes so long is caught in something: what else is to be polled for does not wait for it. */
    private static final long CAUGHT_NS = 100_000_000;

    private final String workerName;
    private final PollPermit permit;
    private final Cursors cursors;
    private final FaultAlarm faults;
    private final AtomicInteger pollingCallers = new AtomicInteger();
    // Changes with every call that polled for itself: written by them, read by the poller's thread.
    private final AtomicLong callerPolls = new AtomicLong();
    private Polled polled; // set before the first thread polls
    // Of the poller's thread, read by callers: whether it sleeps on the doorbell, and until when on the boot clock.
    private volatile boolean sleeping;
    private volatile long sleepingUntilNs;
    private volatile boolean closed;
    // Of the housekeeper: the call of a listener that it saw last, and when first.
    private long listenerSeen;
    private long listenerSinceNs;

    public PollTurns(String workerName, PollPermit permit, Cursors cursors, FaultAlarm faults) {
        this.workerName = workerName;
        this.permit = permit;
        this.cursors = cursors;
        this.faults = faults;
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

    PollPermit permit() {
        return permit;
    }

    // ---- callers

    void callerBegins() {
        pollingCallers.getAndIncrement();
    }

    /** Lets out the faults that the caller met when it polled: what it does next is none of their business. */
    void callerEnds() {
        surfaceFaults();
        callerPolls.lazySet(callerPolls.get() + 1); // any change will do, also when two threads make the same
        pollingCallers.getAndDecrement();
    }

    boolean callersPoll() {
        return pollingCallers.get() > 0;
    }

    /** Another number than before when callers polled since. */
    long callerPolls() {
        return callerPolls.get();
    }

    // ---- sleep

    /** The poller's thread is about to sleep, or sleeps; peers ring when they want something. */
    void sleepUntil(long bootNs) {
        sleepingUntilNs = bootNs;
        sleeping = true;
    }

    void wakeUp() {
        sleeping = false;
    }

    boolean isSleeping() {
        return sleeping;
    }

    long sleepingUntilNs() {
        return sleepingUntilNs;
    }

    // ---- the turn

    /** A caller took the permit: while the poller sleeps, peers need not ring for what the caller finds itself. */
    void takenByCaller() {
        if (sleeping) {
            cursors.markAwake();
            polled.readClock(); // by which deadlines of what came meanwhile are judged
        }
    }

    /**
     * A caller gives the permit back. When the poller sleeps, peers must ring again from now on, and what they wrote before they knew is
     * read here: no peer rings for it, and one poll reads no more than a part of a burst. A peer that rings ends the poller's sleep, and
     * with it this caller's turn.
     */
    void leftByCaller() {
        int work = sleeping ? 1 : 0;
        while (work != 0 && sleeping) {
            cursors.markAsleep(sleepingUntilNs);
            work = pollAll();
            if (work == Polled.PERMIT_LOST) {
                return;
            }
        }
        permit.release();
    }

    /** As {@link Polled#poll()}, whatever happens. */
    int poll() {
        try {
            return polled.poll();
        } catch (Throwable e) { // a fault while reading must not end the thread that reads
            return failed(e);
        }
    }

    /** As {@link Polled#pollAll()}, whatever happens. */
    int pollAll() {
        try {
            return polled.pollAll();
        } catch (Throwable e) { // likewise
            return failed(e);
        }
    }

    /** Reads the clock; the next poll settles calls that are overdue. */
    void readClock() {
        polled.readClock();
    }

    /**
     * Takes the permit from a thread that a listener keeps, so that another thread may poll. For the housekeeper.
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
        if (nowNs - listenerSinceNs < CAUGHT_NS) {
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

    /** Ends a turn that something other than a poll ended early: the permit comes free whatever it was. */
    void stopAfter(Throwable e) {
        try {
            report(e);
            if (sleeping && permit.isMine()) {
                cursors.markAsleep(sleepingUntilNs);
            }
        } finally {
            if (permit.isMine()) {
                permit.release();
            }
        }
    }

    /** Lets out the faults that this thread met, before it goes back to code that they are no business of. */
    void surfaceFaults() {
        faults.surface();
    }

    /** A fault surfaced in this thread, of which nothing shows whose file it was. */
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
