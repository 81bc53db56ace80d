package io.waybill.worker.poll;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.PolledTasks;
import io.waybill.home.Doorbell;
import io.waybill.home.cursor.Cursors;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Polling by a thread of a bundle, in place of the poller, so that a short plain handler runs on the thread that read its
 * request: the leader. It polls and sleeps like the poller, but gives the permit to callers, and leaves when nothing comes for
 * some milliseconds. One thread leads at a time.
 *
 * <p>The leader runs handlers of its own bundle that are {@linkplain HandlerEntry#isShort expected to be short}, without
 * the permit. Other requests go where they would go anyway. The poller stands by: when the leader is inside a handler for
 * too long, the poller takes its place, and the thread continues as any thread of its bundle.
 *
 * <p><b>Threads.</b> {@link #poll}, {@link #enter} and {@link #leave} by the leader; {@link #isLed(long)} by the poller;
 * {@link #mayRun} by the holder of the permit; the rest by any.
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

    /** With so many requests in one poll there is a backlog. */
    private static final int BEGUN = 8;
    /** Calls that take as long are worth a thread each, while others wait. */
    private static final long WORTH_A_THREAD_NS = 5_000;
    /** How long a leader tries to get the permit before it parks for it: the poller releases it once it sees that there is one. */
    private static final long PERMIT_NS = 20_000;
    /** How long a leader sleeps on the doorbell before it leaves that to the poller, and waits for the permit before it gives up. */
    private static final long REST_NS = 4_000_000;
    /** How long the poller spreads a backlog over threads. */
    private static final long PAUSE_NS = 10_000_000;

    private final Waiting waiting;
    private final Clock clock;
    private final PollTurns turns;
    private final Threads threads;
    private final PollPermit permit;
    private final HandlerSlots invocations;
    private final Deadlines deadlines;
    private final Cursors cursors;
    private final Doorbell doorbell;
    private final Runnable wakePoller;
    private volatile HandlerSlot leader; // set and cleared by itself, or cleared by the poller; null for none
    private volatile boolean leftIdle; // set by a leader, cleared by the poller
    private volatile boolean came; // set by a leader, cleared by the poller
    private long turnSeen; // by the poller
    private volatile long expectsFromNs; // on the boot clock; written by the poller
    private boolean expected; // by the holder of the permit: a thread has a request, and is to lead after it
    // By the leader: its own requests in this poll, and how long they took.
    private int begun;
    private long busyNs;
    private volatile long pausedUntilNs; // on the boot clock; written by a leader, read by the next one

    HandlerPolling(PollContext context, Runnable wakePoller) {
        this.waiting = context.waiting;
        this.clock = context.clock;
        this.turns = context.turns;
        this.threads = context.threads;
        this.permit = turns.permit();
        this.invocations = context.invocations;
        this.deadlines = context.deadlines();
        this.cursors = context.cursors;
        this.doorbell = context.doorbell;
        this.wakePoller = wakePoller;
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
    public void poll(HandlerExecutor executor) {
        HandlerSlot self = invocations.own();
        self.executor = executor;
        if (turns.isClosed()
                || turns.callersPoll()
                || clock.bootNs() - pausedUntilNs < 0
                || !LEADER.compareAndSet(this, null, self)) {
            return;
        }
        came = true;
        try {
            self.leads = this;
            self.polledFor = executor;
            pollFor(self, executor);
        } catch (Throwable e) { // in any case: the permit must be released
            turns.stopAfter(e);
        } finally {
            self.leads = null;
            self.polledFor = null;
            self.polledSinceNs = 0;
            turns.wakeUp();
            LEADER.compareAndSet(this, self, null);
        }
        turns.surfaceFaults();
        if (!turns.isSleeping()) { // otherwise peers ring for what they write from now on
            wakePoller.run();
        }
    }

    private void pollFor(HandlerSlot self, HandlerExecutor executor) {
        long idleSinceNs = 0;
        boolean mine = false;
        while (leader == self && !executor.isClosed() && !turns.callersPoll() && !turns.isClosed()) {
            self.hasLeft = false;
            if (executor.polled().taskWaits()) { // passed on by a thread that polled before, or long ones
                enter();
                if (mine) {
                    permit.release();
                    mine = false;
                }
                executor.polled().runWaiting();
                self.polledSinceNs = 0;
                self.polledFor = executor;
                idleSinceNs = 0;
                continue;
            }
            mine = mine || tryAcquire();
            begun = 0;
            busyNs = 0;
            int work = mine ? turns.poll() : 0;
            if (work != 0) {
                mine = work != Polled.PERMIT_LOST;
                if (idleSinceNs != 0) {
                    idleSinceNs = 0;
                    turns.balance().saved();
                }
                continue;
            }
            if (waiting == Waiting.SPIN) {
                threads.spin();
                continue;
            }
            long nowNs = clock.monotonicNs();
            idleSinceNs = idleSinceNs == 0 ? nowNs : idleSinceNs;
            long idleNs = nowNs - idleSinceNs;
            if (!mine && idleNs >= PERMIT_NS) {
                mine = awaitPermit();
                if (!mine) {
                    break;
                }
                continue;
            }
            if (mine && (idleNs >= waiting.spinNs() || turns.balance().sleepsAtOnce(nowNs))) {
                turns.balance().lost(idleNs, nowNs);
                idleSinceNs = 0;
                boolean came = !turns.isSleeping() && rest(self);
                mine = permit.isMine();
                if (!came) {
                    leftIdle = !turns.isSleeping();
                    break;
                }
            }
            threads.spin();
        }
        if (mine) {
            turns.endTurn();
        }
    }

    private boolean tryAcquire() {
        if (!permit.tryAcquire()) {
            return false;
        }
        expected = false;
        turns.beginTurn();
        cursors.markAwake(); // after a rest a caller may have marked it asleep
        return true;
    }

    /**
     * Waits until the holder has released the permit, who may need this processor for that. Returns whether the calling thread has it.
     */
    private boolean awaitPermit() {
        permit.awaitRelease(REST_NS);
        return tryAcquire();
    }

    /** Sleeps on the doorbell in the place of the poller, unless something arrived meanwhile. Returns false when nothing came. */
    private boolean rest(HandlerSlot self) {
        turns.readClock();
        long nowNs = clock.bootNs();
        long untilNs = Math.min(nowNs + REST_NS, deadlines.earliestNs());
        if (untilNs <= nowNs) {
            return true;
        }
        cursors.markAsleep(clock.monotonicNs() + untilNs - nowNs);
        turns.sleepUntil(untilNs);
        boolean came = turns.pollAll() != 0;
        if (!came && leader == self && deadlines.earliestNs() >= untilNs && !turns.callersPoll()) {
            permit.release();
            came = doorbell.await(untilNs - nowNs);
        }
        turns.wakeUp();
        if (permit.isMine() || permit.tryAcquire()) { // otherwise a caller polls
            turns.readClock(); // used to check the deadlines of requests that arrived meanwhile
            cursors.markAwake();
        }
        return came;
    }

    /** Marks that the leader is about to enter a handler, and to release the permit. Returns its slot. */
    public HandlerSlot enter() {
        HandlerSlot self = invocations.own();
        self.polledFor = null; // what it polls inside of the handler, while that waits, runs elsewhere
        self.polledSinceNs = clock.bootNs();
        if (turns.wakeUp()) { // in the look before a rest
            cursors.markAwake();
        } else if (turns.isSleeping()) { // the poller watches, and takes the place of a leader that is late
            wakePoller.run();
        }
        return self;
    }

    /** Marks that the handler has ended. Returns whether this thread may poll on. */
    public boolean leave(HandlerSlot self, HandlerEntry entry) {
        HandlerExecutor executor = entry.executor();
        long nowNs = clock.bootNs();
        long tookNs = nowNs - self.polledSinceNs;
        entry.took(tookNs);
        self.polledSinceNs = 0;
        executor.polled().end(nowNs);
        self.polledFor = executor;
        begun++;
        busyNs += Math.min(tookNs, 2 * WORTH_A_THREAD_NS); // one that was kept from its processor does not count
        if (begun >= BEGUN && busyNs >= begun * WORTH_A_THREAD_NS) { // others wait behind these
            pausedUntilNs = nowNs + PAUSE_NS;
            LEADER.compareAndSet(this, self, null);
        }
        return leader == self && !executor.polled().taskWaits() && !executor.isClosed();
    }

    /** See {@link HandlerSlot#leave}. If the leader does not come back in time, the poller wakes a thread for it. */
    boolean leave(HandlerSlot self, HandlerEntry entry, Runnable task) {
        HandlerExecutor executor = entry.executor();
        if (!isThis(self, entry) || !entry.isShort() || !executor.polled().leave(task)) {
            return false;
        }
        self.hasLeft = true;
        if (turns.isSleeping()) { // as in enter()
            wakePoller.run();
        }
        if (leader != self) { // taken over before the task waited
            executor.polled().help();
        }
        return true;
    }

    /** Returns whether the calling thread leads, and has a task to run before it polls again. */
    public boolean hasLeft() {
        HandlerSlot self = leader;
        return self != null && self.thread() == threads.current() && self.hasLeft;
    }

    /**
     * Notes that a request goes to a thread of its bundle. A leader leaves when it is of its own bundle and may be long: another thread polls, and
     * it takes that. The poller leaves the next ones to the thread when it is short, or to a leader that waits for the permit.
     */
    public void passedOn(HandlerEntry entry) {
        HandlerSlot self = leader;
        if (isThis(self, entry) && !entry.isShort()) {
            LEADER.compareAndSet(this, self, null);
        }
        expected = entry.isShort()
                && !turns.callersPoll()
                && (self == null ? clock.bootNs() - expectsFromNs >= 0 : self.thread() != threads.current());
    }

    private boolean isThis(HandlerSlot slot, HandlerEntry entry) {
        return slot != null && slot.thread() == threads.current() && slot.polledFor == entry.executor();
    }

    // ---- the holder of the permit

    /** Returns whether a thread that was passed a request is to lead after it, and the next ones may wait for that. */
    public boolean isExpected() {
        return expected;
    }

    /** Returns whether the calling thread runs the next request of a plain handler itself. */
    public boolean mayRun(HandlerEntry entry) {
        HandlerSlot self = leader;
        return isThis(self, entry)
                && entry.isShort()
                && !self.polledFor.polled().taskWaits();
    }

    // ---- the poller

    /** Returns whether a thread leads, or is about to. */
    boolean isLed() {
        return leader != null;
    }

    /** Returns whether a leader is expected, and expects none from now on. With the permit. */
    boolean takeExpected() {
        boolean taken = expected;
        if (taken) {
            expected = false;
            came = false;
        }
        return taken;
    }

    /** Notes that the poller has waited for an expected leader. If none came, it is in a handler for longer, and the poller expects none for a while. */
    void hasAwaited() {
        if (!came) {
            expectsFromNs = clock.bootNs() + PAUSE_NS;
        }
    }

    /**
     * Returns whether a thread leads, and takes its place when it does not come back from foreign code.
     *
     * @param nowNs on the boot clock
     */
    boolean isLed(long nowNs) {
        HandlerSlot seen = leader;
        if (seen == null) {
            return false;
        }
        long sinceNs = seen.polledSinceNs;
        long turn = seen.inlineTurn(); // of a non-blocking handler
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
        seen.executor.polled().help(); // with what was left to it
        return false;
    }

    /** Returns whether a leader left because nothing came, and forgets it. */
    boolean takeIdle() {
        boolean idle = leftIdle;
        leftIdle = false;
        return idle;
    }
}
