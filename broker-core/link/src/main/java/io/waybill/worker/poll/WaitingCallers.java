package io.waybill.worker.poll;

import io.waybill.exchange.CallOrigin;
import io.waybill.handling.Failure;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.util.concurrent.Future;

/**
 * Threads that wait for a response, or for room: they first poll for themselves, and then leave it to the
 * {@link Poller}.
 *
 * <p><b>Threads.</b> Any.
 */
public final class WaitingCallers {

    private static final int MAX_HELPING_POLLS = 8;

    private final PollTimes times;
    private final Clock clock;
    private final PollTurns turns;
    private final Threads threads;
    private final PollPermit permit;
    private final SpinBalance balance;
    private final HandlerSlots invocations;
    private final Poller poller;
    private final Runnable ring; // wakes a caller at the doorbell

    public WaitingCallers(PollContext context, Poller poller) {
        this.times = context.times;
        this.clock = context.clock;
        this.turns = context.turns;
        this.threads = context.threads;
        this.permit = turns.permit();
        this.balance = turns.balance();
        this.invocations = context.invocations;
        this.poller = poller;
        this.ring = poller::ring;
    }

    /**
     * Returns whether this thread may wait for other workers: not while it polls, nor inside a non-blocking handler.
     */
    public boolean mayBlock() {
        return !permit.isMine() && !invocations.own().isInline();
    }

    /**
     * Returns whether this thread polls, or is inside a handler of this worker: it must not wait for the end of either.
     */
    public boolean isInside() {
        return permit.isMine()
                || permit.isCaught(threads.current()) // in a listener that took too long
                || invocations.origin() != CallOrigin.PROGRAM;
    }

    /**
     * Returns the origin of this thread's calls: the request whose handler it is inside of. The program while it polls,
     * since it runs listeners of other callers then.
     */
    public CallOrigin origin() {
        return permit.isMine() ? CallOrigin.PROGRAM : invocations.origin();
    }

    /** Returns how threads wait for others. */
    public Threads threads() {
        return threads;
    }

    public void requireMayBlock() {
        if (!mayBlock()) {
            throw Failure.mustNotWait();
        }
    }

    /**
     * Begins to poll in place of a sleeping poller, before a request for whose response the calling thread polls next:
     * the peer that responds need not ring. Returns whether it has begun; then {@link #await} or {@link #end} must
     * follow immediately.
     */
    public boolean tryBegin() {
        return !balance.sleeps() && turns.tryBegin();
    }

    /** Ends what {@link #tryBegin} began: nothing was sent. */
    public void end() {
        turns.callerEnds();
    }

    /** Waits until the call is completed, and polls meanwhile. */
    public void await(WaitCondition call) {
        await(call, false);
    }

    /**
     * Waits until the call is completed, and polls meanwhile.
     *
     * @param begun whether {@link #tryBegin} has begun it, which this ends
     */
    public void await(WaitCondition call, boolean begun) {
        NeighbourRings.passOn();
        boolean polls = begun || !balance.sleeps() || !balance.sleepsAtOnce(clock.monotonicNs());
        if (polls) {
            if (!begun) {
                turns.callerBegins();
            }
            try {
                pollFor(call);
            } catch (Throwable e) { // in any case: the permit must be released, and the call gets its outcome
                turns.stopAfter(e);
            } finally {
                turns.callerEnds();
            }
        }
        if (!call.isMet()) {
            sleepFor(call);
        }
        if (!call.isMet()) {
            parkFor(call);
        }
        if (!polls) {
            turns.surfaceFaults(); // faults of the send, where the call was completed meanwhile
        }
    }

    /** Waits until a future is done, or this thread is interrupted, and polls meanwhile. */
    public void await(Future<?> future) throws InterruptedException {
        FutureWait wait = new FutureWait(future, threads);
        await(wait);
        wait.surfaceInterrupt();
    }

    private void pollFor(WaitCondition call) {
        long budgetNs = times.callerSpinNs();
        long sinceNs = 0;
        long untilNs = 0;
        boolean mine = false;
        while (!call.isMet() && !turns.isClosed()) {
            if (!mine && permit.tryAcquire()) {
                mine = true;
                turns.beginTurn();
            }
            if (mine) {
                int work = turns.poll();
                if (work == Polled.PERMIT_LOST) {
                    mine = false;
                }
                if (work != 0) {
                    continue;
                }
            }
            if (times.spins()) {
                threads.spin();
                continue;
            }
            long nowNs = clock.monotonicNs();
            sinceNs = sinceNs == 0 ? nowNs : sinceNs;
            untilNs = nowNs;
            if (nowNs - sinceNs >= budgetNs) {
                break;
            }
            threads.spin();
        }
        if (sinceNs != 0) {
            if (call.isMet() && untilNs - sinceNs < budgetNs) {
                balance.saved();
            } else {
                balance.lost(untilNs - sinceNs, untilNs);
            }
        }
        if (mine) {
            turns.endTurn();
        }
    }

    /**
     * Sleeps in place of the poller, while the poller sleeps: a response then wakes the thread that waits for it, and
     * no other. Returns when the call is completed, or when another thread polls.
     */
    private void sleepFor(WaitCondition call) {
        if (!call.wakenBy(ring)) {
            return;
        }
        if (poller.tryDivertRings()) {
            boolean passOn = true;
            try {
                passOn = awaitRings(call);
            } catch (Throwable e) { // as in await()
                turns.stopAfter(e);
            } finally {
                poller.restoreRings(passOn);
                turns.surfaceFaults();
            }
        }
        call.wakenBy(null);
    }

    /**
     * Polls after each ring, until the call is completed. Returns whether another thread is to poll for the last ring.
     */
    private boolean awaitRings(WaitCondition call) {
        while (!call.isMet() && !turns.isClosed() && poller.hasRings()) {
            if (!poller.awaitRing(PollTimes.MAX_PARK_NS)) {
                continue; // nothing, or a signal
            }
            if (!permit.tryAcquire()) {
                return true;
            }
            turns.beginTurn();
            int work = turns.poll();
            while (work > 0 && !call.isMet()) {
                work = turns.poll();
            }
            if (work == Polled.PERMIT_LOST) {
                return true;
            }
            turns.endTurn();
        }
        return false;
    }

    private void parkFor(WaitCondition call) {
        boolean interrupted = false;
        try {
            while (!call.isMet()) {
                parkOnce(call);
                if (Thread.interrupted()) { // the outcome has priority; the interrupt is kept for later
                    interrupted = true;
                    call.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Parks, and surfaces the faults of this thread before that: parking enters the virtual machine, where JDK 17
     * reports them.
     */
    private void parkOnce(WaitCondition call) {
        try {
            call.park(PollTimes.MAX_PARK_NS);
        } catch (InternalError e) {
            turns.stopAfter(e);
        }
    }

    /** Polls briefly, or yields: for a caller that waits for room. */
    public void helpBriefly() {
        NeighbourRings.passOn();
        turns.callerBegins();
        try {
            if (permit.tryAcquire() && pollBriefly() != 0) {
                return;
            }
        } catch (Throwable e) { // as in await()
            turns.stopAfter(e);
        } finally {
            turns.callerEnds();
        }
        if (times.spins()) {
            threads.spin();
        } else if (balance.sleeps()) {
            threads.park(this, PollTimes.ROOM_PARK_NS);
        } else {
            threads.giveWay();
        }
    }

    /**
     * Returns whether a listener took longer than its limit, so that its thread lost the permit, and has not returned.
     */
    public boolean isListenerLate() {
        return permit.hasCaught();
    }

    /**
     * Runs a check while no thread polls, and therefore none is in a listener, unless {@linkplain #isListenerLate one
     * is late}.
     *
     * @return whether it ran; false when other threads polled all the time
     */
    public boolean whileNotPolling(Runnable look) {
        turns.callerBegins();
        try {
            long untilNs = clock.monotonicNs() + PollTimes.LOOK_NS;
            while (!permit.tryAcquire()) {
                if (clock.monotonicNs() - untilNs >= 0) {
                    return false;
                }
                threads.spin();
            }
            turns.beginTurn();
            try {
                look.run();
            } finally {
                turns.endTurn();
            }
            return true;
        } catch (Throwable e) { // a fault in a peer's file, as in await()
            turns.stopAfter(e);
            return false;
        } finally {
            turns.callerEnds();
        }
    }

    /**
     * Polls on a thread that has sent this worker a message, in place of the poller, which sleeps.
     *
     * @return false when another thread polls, and may have missed the last message
     */
    boolean pollInPlace() {
        try {
            if (!permit.tryAcquire()) {
                return turns.isClosed();
            }
            pollBriefly();
            return true;
        } catch (Throwable e) { // as in await()
            turns.stopAfter(e);
            return false;
        } finally {
            turns.surfaceFaults();
        }
    }

    /** Polls with the permit, and releases it. Returns 0 when there was nothing to do. */
    private int pollBriefly() {
        turns.beginTurn();
        int work = turns.poll();
        int done = work;
        for (int i = 1; i < MAX_HELPING_POLLS && work > 0; i++) {
            work = turns.poll();
            done |= work;
        }
        if (work != Polled.PERMIT_LOST) {
            turns.endTurn();
        }
        return done;
    }
}
