package io.waybill.worker.poll;

import io.waybill.host.Threads;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The right to poll: one thread at a time reads the peers' journals and completes calls. The worker's poller holds it
 * unless another thread wants it; a thread that waits for a response takes it to poll for itself. Writes of one holder
 * are visible to the next.
 *
 * <p>The poller's thread, and a leader, may wait until it is released; no other thread parks for it.
 *
 * <p>The permit can be revoked while its holder is inside a listener, which is foreign code and may not return:
 * {@link #leaveForeign} reports this, and the former holder then touches nothing that the permit protects.
 */
public final class PollPermit {

    private static final VarHandle HOLDER;
    private static final VarHandle FOREIGN;

    static {
        try {
            HOLDER = MethodHandles.lookup().findVarHandle(PollPermit.class, "holder", Thread.class);
            FOREIGN = MethodHandles.lookup().findVarHandle(PollPermit.class, "foreign", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final FaultAlarm faults;
    private final Threads threads;
    private volatile Thread holder;
    // Threads to unpark when the permit is released; null for none. Each writes its own field before it reads the
    // holder, and a holder reads both after it has released the permit.
    private volatile Thread waitingPoller;
    private volatile Thread waitingLeader;
    // Number of the listener call that the holder is inside of; 0 for none. Set by the holder, cleared by it or by the
    // thread that revokes.
    private volatile long foreign;
    private volatile Thread revokedFrom; // thread caught in a listener without the permit; null for none
    private long entered; // by the holder
    private long revocations; // by the thread that revokes while no thread holds the permit, read by the holder

    public PollPermit(FaultAlarm faults) {
        this.faults = faults;
        this.threads = faults.threads();
    }

    /** Takes the permit if it is free. */
    public boolean tryAcquire() {
        return holder == null && HOLDER.compareAndSet(this, null, threads.current());
    }

    /** Takes the permit if it is free. Otherwise the calling thread, the poller's, is unparked when it is released. */
    boolean tryAcquireOrWait() {
        waitingPoller = threads.current();
        boolean acquired = tryAcquire();
        if (acquired) {
            waitingPoller = null;
        }
        return acquired;
    }

    /** Ends the wait that {@link #tryAcquireOrWait} began, unless a release has. Returns whether it did. */
    boolean waitsNoMore() {
        boolean waited = waitingPoller != null;
        if (waited) {
            waitingPoller = null;
        }
        return waited;
    }

    /**
     * Parks the calling thread, a leader, until the permit is released, or {@code maxNs} have passed. Another thread
     * may then take the permit.
     */
    void awaitRelease(long maxNs) {
        waitingLeader = threads.current();
        if (!isFree()) {
            threads.park(this, maxNs);
        }
        waitingLeader = null;
    }

    /** Releases the permit. Only by the holder. */
    public void release() {
        HOLDER.setVolatile(this, null);
        Thread poller = waitingPoller;
        if (poller != null) {
            waitingPoller = null;
            faults.unpark(poller);
        }
        Thread leader = waitingLeader;
        if (leader != null) {
            faults.unpark(leader);
        }
    }

    /** Marks that the holder is about to call a listener. Returns the argument for {@link #leaveForeign}. */
    public long enterForeign() {
        long number = ++entered;
        FOREIGN.setRelease(this, number);
        return number;
    }

    /** Marks that the listener returned. Returns whether this thread still holds the permit. */
    public boolean leaveForeign(long number) {
        if (FOREIGN.compareAndSet(this, number, 0L)) {
            return true;
        }
        if (revokedFrom == threads.current()) {
            revokedFrom = null;
        }
        return false;
    }

    /** Returns the number of the listener call that the holder is inside of; 0 for none. Any thread. */
    long foreign() {
        return foreign;
    }

    /**
     * Takes the permit from a holder inside this listener call. Returns that thread; null when it has left the call.
     */
    Thread revoke(long number) {
        Thread caught = holder;
        if (caught == null || !FOREIGN.compareAndSet(this, number, 0L)) {
            return null;
        }
        revokedFrom = caught;
        revocations++;
        release();
        return caught;
    }

    /** Returns whether this thread lost the permit inside a listener, and has not left it. */
    boolean isCaught(Thread thread) {
        return revokedFrom == thread;
    }

    /** Returns whether a thread lost the permit inside a listener, and has not left it. Any thread. */
    boolean hasCaught() {
        return revokedFrom != null;
    }

    /** Returns the number of revocations. Only by the holder. */
    public long revocations() {
        return revocations;
    }

    boolean isFree() {
        return holder == null;
    }

    public boolean isMine() {
        return holder == threads.current();
    }
}
