package io.waybill.worker.poll;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The right to poll: one thread at a time reads the peers' journals and settles calls. The worker's poller has it when no other thread
 * wants it; a thread that waits for a response takes it to poll for itself. Everything that one holder wrote is seen by the next.
 *
 * <p>While its holder is inside of a listener, which is foreign and may not return, the permit can be revoked: the holder learns it from
 * {@link #leaveForeign}, and touches nothing from then on that belongs to the permit.
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

    private volatile Thread holder;
    // Which call of a listener the holder is inside of, another number for each; 0 for none. Set by the holder, cleared
    // by
    // it or by who revokes.
    private volatile long foreign;
    private volatile Thread revokedFrom; // and has not come back; null for none
    private long entered; // of the holder
    private long revocations; // of who revokes while no thread holds the permit, read by the holder

    /** Takes the permit if it is free. */
    public boolean tryAcquire() {
        return holder == null && HOLDER.compareAndSet(this, null, Thread.currentThread());
    }

    /** Gives it back. The holder only. */
    public void release() {
        HOLDER.setRelease(this, null);
    }

    /** The holder is about to call a listener. Returns what {@link #leaveForeign} wants. */
    public long enterForeign() {
        long number = ++entered;
        FOREIGN.setRelease(this, number);
        return number;
    }

    /** The listener returned. Returns whether this thread still has the permit. */
    public boolean leaveForeign(long number) {
        if (FOREIGN.compareAndSet(this, number, 0L)) {
            return true;
        }
        if (revokedFrom == Thread.currentThread()) {
            revokedFrom = null;
        }
        return false;
    }

    /** Which call of a listener the holder is inside of; 0 for none. Any thread. */
    long foreign() {
        return foreign;
    }

    /** Takes the permit from a holder that is inside of this call of a listener. Returns that thread; null when it has left the call. */
    Thread revoke(long number) {
        Thread caught = holder;
        if (caught == null || !FOREIGN.compareAndSet(this, number, 0L)) {
            return null;
        }
        revokedFrom = caught;
        revocations++;
        HOLDER.setRelease(this, null);
        return caught;
    }

    /** Whether this thread lost the permit inside of a listener, and is in it still. */
    boolean isCaught(Thread thread) {
        return revokedFrom == thread;
    }

    /** How often the permit was revoked. The holder only. */
    public long revocations() {
        return revocations;
    }

    boolean isFree() {
        return holder == null;
    }

    public boolean isMine() {
        return holder == Thread.currentThread();
    }
}
