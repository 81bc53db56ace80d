package io.waybill.worker;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The right to poll: one thread at a time reads the peers' journals and settles calls. The worker's poller has it when nobody else
 * wants it; a thread that waits for an answer takes it to poll for itself. Everything that one holder wrote is seen by the next.
 */
final class PollPermit {

    private static final VarHandle HOLDER;

    static {
        try {
            HOLDER = MethodHandles.lookup().findVarHandle(PollPermit.class, "holder", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile Thread holder;

    /** Takes the permit when nobody has it. */
    boolean tryAcquire() {
        return holder == null && HOLDER.compareAndSet(this, null, Thread.currentThread());
    }

    /** Gives it back. The holder only. */
    void release() {
        HOLDER.setRelease(this, null);
    }

    boolean isFree() {
        return holder == null;
    }

    boolean isMine() {
        return holder == Thread.currentThread();
    }
}
