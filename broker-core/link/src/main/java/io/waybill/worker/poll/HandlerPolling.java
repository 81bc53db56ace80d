package io.waybill.worker.poll;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.PolledTasks;
import io.waybill.dispatch.PoolThread;
import io.waybill.home.cursor.Cursors;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Polling by a thread of a bundle, the leader, in place of the poller, so that a plain handler runs on the thread that
 * read its request. The leader sleeps on the doorbell as a waiting caller does, with the rings diverted to it while the
 * poller continues to sleep, and stops when nothing comes for some milliseconds. One thread leads at a time.
 *
 * <p>The leader runs handlers of its own bundle, without the permit. Before a handler that is
 * {@linkplain HandlerEntry#isShort expected to be short}, nothing else happens: the poller checks from time to time
 * whether the leader returns, and takes its place when it does not. Before any other handler, the leader hands over to
 * the poller, which sleeps until a peer rings, and becomes the leader again after the handler.
 *
 * <p><b>Threads.</b> {@link #poll}, {@link #enter} and {@link #leave} by the leader; {@link #isLed(long)} by the
 * poller; {@link #mayRun} by the holder of the permit; the rest by any.
 */
public final class HandlerPolling implements PolledTasks.Polling {

    private static final VarHandle LEADER;

    static {
        try {
            LEADER = MethodHandles.lookup().findVarHandle(HandlerPolling.class, "leader", HandlerSlot.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Number of requests in one poll that counts as a backlog. */
    private static final int BEGUN = 8;
    /**
     * Max number of requests of other bundles, with none of its own between them, before a thread leaves the lead to a
     * thread of theirs.
     */
    private static final int MAX_OF_OTHERS = 4;

    private final PollTimes times;
    private final Clock clock;
    private final PollTurns turns;
    private final Threads threads;
    private final PollPermit permit;
    private final HandlerSlots invocations;
    private final Cursors cursors;
    private final Poller poller;
    private volatile HandlerSlot leader; // set and cleared by itself, or cleared by the poller; null for none
    private volatile boolean isChecked; // written by the poller: it checks the leader from time to time
    private volatile boolean ran; // whether a short handler ran since then; set by the leader, cleared by the poller
    private long turnSeen; // by the poller
    private boolean passedOn; // by the holder of the permit: whether a request was passed on, and none came after it
    // By the leader: the number of its own requests in this poll, and the time that they took.
    private int begun;
    private long busyNs;
    private int ofOthers; // requests since the last one of its own; by the leader
    private volatile long pausedUntilNs; // on the boot clock; written by a leader, read by the next one

    HandlerPolling(PollContext context, Poller poller) {
        this.times = context.times;
        this.clock = context.clock;
        this.turns = context.turns;
        this.threads = context.threads;
        this.permit = turns.permit();
        this.invocations = context.invocations;
        this.cursors = context.cursors;
        this.poller = poller;
    }

    public PollPermit permit() {
        return permit;
    }

    /** Returns how threads wait for others. */
    public Threads threads() {
        return threads;
    }

    // ---- the leader

    @Override
    public void poll(HandlerExecutor executor, PoolThread pooled) {
        HandlerSlot self = invocations.own();
        self.executor = executor;
        self.pooled = pooled;
        if (turns.isClosed()
                || turns.callersPoll()
                || clock.bootNs() - pausedUntilNs < 0
                || !LEADER.compareAndSet(this, null, self)) {
            return;
        }
        ofOthers = 0;
        boolean passOn = true;
        try {
            self.leads = this;
            self.polledFor = executor;
            passOn = pollFor(self, executor);
        } catch (Throwable e) { // in any case: the permit must be released
            turns.stopAfter(e);
        } finally {
            self.leads = null;
            self.polledFor = null;
            self.polledSinceNs = 0;
            LEADER.compareAndSet(this, self, null);
            poller.restoreRings(passOn);
        }
        turns.surfaceFaults();
        if (turns.isSleeping()) {
            turns.attend(); // its last poll may have ended inside a handler
        } else {
            poller.wake();
        }
    }

    /** Polls while it leads. Returns whether another thread is to poll for the last ring. */
    private boolean pollFor(HandlerSlot self, HandlerExecutor executor) {
        long idleSinceNs = 0;
        boolean mine = false;
        boolean rung = false; // whether it took a ring, and has not polled since
        while (leader == self && !executor.isClosed() && !turns.callersPoll() && !turns.isClosed()) {
            self.hasLeft = false;
            if (executor.polled().taskWaits()) { // passed on by a previous polling thread, or by this one
                prepare(self, executor.polled().areShort());
                mine = false;
                if (rung) { // the task comes first
                    rung = false;
                    poller.wake();
                }
                executor.polled().runWaiting(self.pooled);
                self.polledSinceNs = 0;
                self.polledFor = executor;
                retake(self, executor);
                idleSinceNs = 0;
                continue;
            }
            mine = mine || tryAcquire();
            begun = 0;
            busyNs = 0;
            int work = mine ? turns.poll() : 0;
            rung &= !mine;
            if (work != 0) {
                mine = work != Polled.PERMIT_LOST;
                if (mine) { // it may have run non-blocking handlers
                    askForChecks();
                }
                if (idleSinceNs != 0) {
                    idleSinceNs = 0;
                    turns.balance().saved();
                }
                continue;
            }
            if (times.spins()) {
                threads.spin();
                continue;
            }
            long nowNs = clock.monotonicNs();
            idleSinceNs = idleSinceNs == 0 ? nowNs : idleSinceNs;
            long idleNs = nowNs - idleSinceNs;
            if (!mine && idleNs >= PollTimes.PERMIT_NS) {
                mine = awaitPermit();
                if (!mine) {
                    break;
                }
                continue;
            }
            if (mine && (idleNs >= times.spinNs() || turns.balance().sleepsAtOnce(nowNs))) {
                turns.balance().lost(idleNs, nowNs);
                idleSinceNs = 0;
                mine = false;
                boolean diverts = poller.hasRings() || poller.tryDivertRings();
                turns.endTurn();
                if (diverts && poller.hasRings()) { // a handler may have run meanwhile, and restored them
                    rung = poller.awaitRing(times.leaderRestNs());
                    diverts = rung;
                }
                if (!diverts) {
                    break;
                }
            }
            threads.spin();
        }
        if (mine) {
            turns.endTurn();
        }
        return rung;
    }

    private boolean tryAcquire() {
        if (!permit.tryAcquire()) {
            return false;
        }
        passedOn = false;
        turns.beginTurn();
        return true;
    }

    /**
     * Waits until the holder, which may need this processor for that, has released the permit. Returns whether the
     * calling thread has the permit.
     */
    private boolean awaitPermit() {
        permit.awaitRelease(times.leaderRestNs());
        return tryAcquire();
    }

    /**
     * Counts a request of this thread's bundle as begun. Returns false when a thread of the bundle is to run it like
     * any other request. By the leader, with the permit.
     */
    public boolean begin(HandlerEntry entry, Runnable request) {
        return entry.executor().polled().begin(invocations.own().pooled, request);
    }

    /** Marks that the leader is about to enter a handler, and releases the permit. Returns its slot. */
    public HandlerSlot enter(HandlerEntry entry) {
        HandlerSlot self = invocations.own();
        prepare(self, entry.isShort());
        return self;
    }

    private void prepare(HandlerSlot self, boolean isShort) {
        self.polledFor = null; // requests that it polls inside the handler, while the handler waits, run elsewhere
        self.polledSinceNs = clock.bootNs();
        if (isShort) {
            askForChecks();
        } else {
            handOver(self);
        }
        if (permit.isMine()) {
            permit.release();
        }
        if (!isShort && turns.isUnattended()) { // the poller has fallen asleep after the hand-over
            poller.wake(); // this thread reads nothing: it would run other handlers before its own
        }
    }

    /** Makes the poller check this thread from time to time: it may not return from foreign code. */
    private void askForChecks() {
        if (!ran) {
            ran = true;
        }
        if (!isChecked && turns.isSleeping()) {
            poller.wake();
        }
    }

    /** Leaves polling to the poller, for which peers ring from now on. With the permit, if this thread has it. */
    private void handOver(HandlerSlot self) {
        if (!LEADER.compareAndSet(this, self, null)) {
            return;
        }
        self.executor.polled().handOver(self.pooled);
        boolean wakes = true;
        try {
            poller.restoreRings(false);
            if (turns.isSleeping() && permit.isMine()) {
                cursors.markAsleep();
                wakes = turns.mayHaveWork(); // otherwise a peer that writes sees the mark, and rings
            } else {
                wakes = !turns.isSleeping();
            }
        } catch (InternalError e) { // the request was counted in, and runs
            turns.report(e);
        }
        if (wakes) {
            poller.wake();
        }
    }

    /** Makes this thread the leader again, unless another thread leads, or a backlog is spread over threads. */
    private void retake(HandlerSlot self, HandlerExecutor executor) {
        if (leader == null
                && clock.bootNs() - pausedUntilNs >= 0
                && executor.polled().retake(self.pooled)
                && !LEADER.compareAndSet(this, null, self)) {
            executor.polled().handOver(self.pooled);
        }
    }

    /** Marks that the handler has ended. Returns whether this thread may continue to poll. */
    public boolean leave(HandlerSlot self, HandlerEntry entry) {
        HandlerExecutor executor = entry.executor();
        long nowNs = clock.bootNs();
        long tookNs = nowNs - self.polledSinceNs;
        entry.took(tookNs);
        self.polledSinceNs = 0;
        ofOthers = 0;
        executor.polled().end(self.pooled, nowNs);
        self.polledFor = executor;
        if (leader != self) {
            retake(self, executor);
            return false;
        }
        begun++;
        busyNs += Math.min(tookNs, 2 * PollTimes.WORTH_A_THREAD_NS); // time without a processor does not count
        if (begun >= BEGUN && busyNs >= begun * PollTimes.WORTH_A_THREAD_NS) { // other requests wait behind these
            pausedUntilNs = nowNs + PollTimes.PAUSE_NS;
            LEADER.compareAndSet(this, self, null);
        }
        return leader == self && !executor.polled().taskWaits() && !executor.isClosed();
    }

    /**
     * Leaves a task to the leader, as {@link HandlerSlot#keepTask} describes. If the leader does not return in time,
     * the poller wakes a thread for the task.
     */
    boolean leave(HandlerSlot self, HandlerEntry entry, Runnable task) {
        HandlerExecutor executor = entry.executor();
        if (!isThis(self, entry) || !entry.isShort() || !executor.polled().leave(self.pooled, task)) {
            return false;
        }
        self.hasLeft = true;
        askForChecks();
        if (leader != self) { // replaced as the leader before the task waited
            executor.polled().help();
        }
        return true;
    }

    /** Returns whether the calling thread leads, and has a task to run before it polls again. */
    public boolean hasLeft() {
        HandlerSlot self = leader;
        return self != null && self.thread() == threads.current() && self.hasLeft;
    }

    private boolean isThis(HandlerSlot slot, HandlerEntry entry) {
        return slot != null && slot.thread() == threads.current() && slot.polledFor == entry.executor();
    }

    // ---- the holder of the permit

    /** Records that a request goes to a thread of its bundle, which may poll after it. */
    public void passedOn(HandlerEntry entry) {
        passedOn = entry.executor().polled().mayPoll();
        HandlerSlot self = leader;
        if (self != null
                && self.thread() == threads.current()
                && self.executor != entry.executor()
                && ++ofOthers >= MAX_OF_OTHERS) {
            LEADER.compareAndSet(this, self, null);
        }
    }

    /** Returns whether a request went to a thread since the last call, and clears the mark. With the permit. */
    boolean takePassedOn() {
        boolean taken = passedOn;
        passedOn = false;
        return taken;
    }

    /** Returns whether the calling thread runs the next request of a plain handler itself. */
    public boolean mayRun(HandlerEntry entry) {
        HandlerSlot self = leader;
        return isThis(self, entry) && !self.polledFor.polled().taskWaits();
    }

    // ---- the poller

    /** Returns whether a thread leads, or is about to. */
    boolean isLed() {
        return leader != null;
    }

    /** Returns whether the leader is to be checked: it has run a short handler since the last call. */
    boolean takeCheck() {
        boolean checks = isLed() && ran;
        isChecked = checks;
        ran = false;
        return checks;
    }

    /**
     * Returns whether a thread leads, and takes its place when it does not return from foreign code.
     *
     * @param nowNs on the boot clock
     */
    boolean isLed(long nowNs) {
        HandlerSlot seen = leader;
        if (seen == null) {
            return false;
        }
        long sinceNs = seen.polledSinceNs;
        long turn = seen.inlineTurn(); // turn of a non-blocking handler
        boolean isLate = sinceNs != 0 && nowNs - sinceNs > HandlerEntry.SHORT_NS
                || turn != 0 && turn == turnSeen
                || permit.isCaught(seen.thread());
        turnSeen = turn;
        if (!isLate) {
            return true;
        }
        if (!LEADER.compareAndSet(this, seen, null)) {
            return leader != null;
        }
        poller.restoreRingsOf(seen);
        seen.executor.polled().handOver(seen.pooled);
        seen.executor.polled().help(); // with the tasks that were left to it
        return false;
    }
}
