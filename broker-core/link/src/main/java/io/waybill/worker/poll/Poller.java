package io.waybill.worker.poll;

import io.waybill.home.Doorbell;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Background poller. Its thread runs a {@link PollerLoop}, which yields the poll permit to callers that poll for their
 * own responses, and takes it back when none does.
 *
 * <p>When that thread is blocked in a non-blocking handler, a second one takes its role; the first ends when it
 * returns.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Poller {

    private static final Logger LOG = LoggerFactory.getLogger(Poller.class);

    private final PollContext context;
    private final String workerName;
    private final PollTimes times;
    private final Clock clock;
    private final Threads threads;
    private final PollTurns turns;
    private final PollPermit permit;
    private final HandlerPolling handlers;
    private final HandlerSlots invocations;
    private final Deadlines deadlines;
    private final Doorbell doorbell;
    private volatile HandlerSlot active; // the thread that has the role: set by itself, read by any
    private final AtomicReference<HandlerSlot> divertedTo =
            new AtomicReference<>(); // the rings of peers; null for none
    private volatile Runnable onMessages; // by the housekeeper; null before and after a long rest
    private volatile boolean starting; // set by the thread that starts another one for the role, cleared by that thread
    private int started; // by the housekeeper, and before it runs by the starting thread
    private final Turn roleSeen = new Turn(); // these two by the housekeeper
    private final Turn callerSeen = new Turn();

    /** State of a thread at its last check. */
    private static final class Turn {
        private HandlerSlot slot;
        private long number;

        /** Returns whether a thread serves the same request as at the last check. */
        boolean isSame(HandlerSlot now) {
            long turn = now.inlineTurn();
            boolean same = turn != 0 && turn == number && now == slot;
            slot = now;
            number = turn;
            return same;
        }
    }

    public Poller(PollContext context) {
        this.context = context;
        this.workerName = context.workerName;
        this.times = context.times;
        this.clock = context.clock;
        this.threads = context.threads;
        this.turns = context.turns;
        this.permit = turns.permit();
        this.invocations = context.invocations;
        this.deadlines = context.deadlines();
        this.doorbell = context.doorbell;
        this.handlers = new HandlerPolling(context, this); // last: it uses a poller that is complete
    }

    /** Returns the polling by threads of handlers, which they do before they rest. */
    public HandlerPolling handlers() {
        return handlers;
    }

    /** Starts polling. */
    public void start(Polled polled) {
        turns.open(polled);
        threads.start(nextThread(), new PollerLoop(context, this));
    }

    private String nextThread() {
        starting = true;
        started++;
        return workerName + "-poller-" + started;
    }

    // ---- by the threads that poll

    /** Assigns the role to the calling thread; the thread that had it ends. */
    void begins(HandlerSlot self) {
        active = self;
        starting = false;
    }

    /** Returns whether this thread has the role. */
    boolean isActive(HandlerSlot self) {
        return active == self;
    }

    // ---- by any thread

    /** Wakes a poller that stands by. */
    private void unpark() {
        HandlerSlot role = active;
        if (role != null) {
            turns.unpark(role.thread());
        }
    }

    /** Surfaces the faults of this thread's sends, before it returns to its caller. */
    public void surfaceFaults() {
        turns.surfaceFaults();
    }

    /**
     * Runs a listener once, when the next messages come or are sent, or the poller is woken for another reason, on the
     * thread that detects this.
     *
     * @return false when that is impossible: a poller that spins does not check for a listener
     */
    public boolean onMessages(Runnable listener) {
        if (times.spins()) {
            return false;
        }
        onMessages = listener;
        return true;
    }

    /** Runs the listener for the next messages, if there is one. */
    void reportMessages() {
        Runnable listener = onMessages;
        if (listener != null) {
            onMessages = null;
            try {
                listener.run();
            } catch (InternalError e) { // as in FaultAlarm.unpark(): not a failure of a call that was sent
                report(e);
                listener.run();
            }
        }
    }

    /** Registers the deadline of a call that was sent; 0 for none. Does not throw: the call is in flight. */
    public void onDeadline(long deadlineNs) {
        try {
            if (deadlines.add(deadlineNs) && turns.isSleeping() && deadlineNs < turns.sleepingUntilNs()) {
                wake();
            }
            reportMessages();
        } catch (RuntimeException | Error e) {
            report(e);
        }
    }

    /** Reports a fault that surfaced in the calling thread; the next poll finds the file. */
    public void report(Throwable fault) {
        turns.report(fault);
    }

    /** Wakes the poller after a change that only a poll can see. */
    public void wake() {
        if (!turns.isSleeping()) {
            unpark();
            return;
        }
        try {
            doorbell.wake();
        } catch (InternalError e) { // as in FaultAlarm.unpark()
            report(e);
            doorbell.wake();
        }
    }

    /**
     * Returns the number of times that the poller found records after a rest that ended by timeout, or by the
     * housekeeper: their sender ended before it rang, or a handler blocked the thread that polled. Any other cause is
     * an error of this package: where a record may arrive, one thread polls, or one waits on the doorbell.
     */
    public long foundLate() {
        return turns.foundLate();
    }

    /**
     * Returns whether the poller's thread, or a caller in its place, is inside a handler now, or the thread that polls
     * inside a listener or an access policy.
     */
    public boolean isInForeignCode() {
        HandlerSlot role = active;
        HandlerSlot caller = divertedTo.get();
        return role != null && role.innermost() != null
                || caller != null && caller.inlineTurn() != 0
                || permit.foreign() != 0;
    }

    /**
     * Wakes a poller that sleeps while another thread has its turn, and does not poll. Starts another thread for the
     * role when the poller's thread serves the same request at two checks, or is blocked in a listener, and no thread
     * polls; also restores the rings that a caller has diverted, if it is caught in the same way. For the housekeeper.
     * A handler blocks one thread at most: until it returns, its other requests don't run on a poller.
     */
    public void relieve() {
        turns.relieve(clock.monotonicNs());
        if (turns.isUnattended()) {
            turns.seenUnattended();
            wake();
        }
        HandlerSlot caller = divertedTo.get();
        if (isCaught(caller, callerSeen)) {
            restoreRingsFrom(caller);
            wake();
        }
        HandlerSlot role = active;
        boolean caught = isCaught(role, roleSeen);
        if (!caught || starting || !permit.isFree() || turns.isClosed()) {
            return;
        }
        threads.startWhenPossible(nextThread(), new PollerLoop(context, this)); // callers still poll for themselves
    }

    private boolean isCaught(HandlerSlot slot, Turn seen) {
        return slot != null && (seen.isSame(slot) || permit.isCaught(slot.thread()));
    }

    /**
     * Takes the permit from a thread that is blocked in a listener. For the thread that closes, after the housekeeper
     * has ended.
     */
    public void relieveOfListener() {
        turns.relieve(clock.monotonicNs());
    }

    // ---- a caller that sleeps in the poller's place

    /**
     * Diverts the rings of peers to the calling thread, if the poller sleeps and no other thread has them. Returns
     * whether it did.
     */
    boolean tryDivertRings() {
        if (!turns.isSleeping() || !divertedTo.compareAndSet(null, invocations.own())) {
            return false;
        }
        doorbell.divert();
        return true;
    }

    /**
     * Returns whether the calling thread still has the rings. They may be taken from it while it is in foreign code.
     */
    boolean hasRings() {
        return divertedTo.get() == invocations.own();
    }

    /** Waits for a ring. Only by the thread that has diverted them. Returns false when there was none. */
    boolean awaitRing(long timeoutNs) {
        boolean rung = doorbell.awaitDiverted(timeoutNs);
        if (rung) {
            reportMessages();
        }
        return rung;
    }

    /**
     * Restores the rings that the calling thread has diverted, unless another thread has done so.
     *
     * @param passOn whether this thread took a ring, and did not poll after that: the poller is to do so
     */
    void restoreRings(boolean passOn) {
        if (hasRings()) {
            restoreRingsFrom(invocations.own());
        }
        if (passOn) {
            wake();
        }
    }

    /** Restores the rings that a late thread has diverted. */
    void restoreRingsOf(HandlerSlot late) {
        if (divertedTo.get() == late) {
            restoreRingsFrom(late);
        }
    }

    private void restoreRingsFrom(HandlerSlot slot) {
        try {
            doorbell.restore();
        } catch (InternalError e) { // as in FaultAlarm.unpark(): it may have had no effect
            report(e);
            doorbell.restore();
        }
        divertedTo.compareAndSet(slot, null); // last: another thread may divert them now
    }

    /** Wakes the thread that has diverted the rings. */
    void ring() {
        try {
            doorbell.ring();
        } catch (IOException e) {
            LOG.warn("A caller of {} could not be woken, and looks a little later", workerName, e);
        }
    }

    /** Ends the threads, and every wait. */
    public void close() {
        turns.close();
        ring(); // for a caller in the poller's place
        wake();
        unpark();
    }
}
