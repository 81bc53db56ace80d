package io.waybill.dispatch;

import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Count of the calls that a handler or an interceptor has begun and not ended, and the wait for their end once it is
 * withdrawn.
 *
 * <p>Every {@link #begin} that returned true is followed by one {@link #end}.
 *
 * <p><b>Threads.</b> Any.
 */
public final class InFlightCount {

    private static final long MAX_WAIT_MS = 50;

    private static final VarHandle ENDED_HERE;
    private static final VarHandle COUNTING;

    static {
        try {
            ENDED_HERE = MethodHandles.lookup().findVarHandle(InFlightCount.class, "endedHere", long.class);
            COUNTING = MethodHandles.lookup().findVarHandle(InFlightCount.class, "counting", WeakReference.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    // In flight are begun - ended. Counters that only grow never wrap. The first thread that ends a call has a counter
    // of its own, which needs no atomic add: most often it ends them all.
    private final AtomicLong begun = new AtomicLong();
    private final AtomicLong ended = new AtomicLong(); // calls ended by other threads
    private long endedHere; // calls ended by the counting thread
    private WeakReference<Thread> counting; // null before the first end; set once
    private final AtomicLong refused = new AtomicLong();
    private final Object drained = new Object();
    // Both are set by the withdrawing thread before it reads the counters, and read by calling threads after they wrote
    // them. One of the
    // two sees the other, so no call begins after its withdrawal returned.
    private volatile boolean withdrawn;
    private volatile boolean hasLeft;

    /** Counts a call in; false after {@link #withdraw}. */
    public boolean begin() {
        begun.getAndIncrement();
        return !withdrawn || refuse();
    }

    /** Counts a call in that began inside of another one; false after {@link #leave}. */
    public boolean beginLeaving() {
        begun.getAndIncrement();
        return !hasLeft || refuse();
    }

    private boolean refuse() {
        refused.getAndIncrement();
        end();
        return false;
    }

    /** Counts out a call that was counted in. */
    public void end() {
        WeakReference<Thread> first = counting;
        if (first != null && first.get() == Thread.currentThread()) {
            ENDED_HERE.setRelease(this, endedHere + 1);
        } else {
            ended.getAndIncrement();
            if (first == null) {
                COUNTING.compareAndSet(this, null, new WeakReference<>(Thread.currentThread()));
            }
        }
        if (withdrawn) { // the waiting thread may have read the counter just before: it reads it again after a while
            synchronized (drained) {
                drained.notifyAll();
            }
        }
    }

    /** Returns the number of calls begun and not ended. */
    public long inFlight() {
        long endedBefore = allEnded(); // read first: the difference is then never too small
        return begun.get() - endedBefore;
    }

    private long allEnded() {
        return ended.get() + (long) ENDED_HERE.getAcquire(this);
    }

    /** Returns the number of calls begun, without those that were refused. */
    public long begun() {
        long refusedBefore = refused.get(); // read first: the difference is then never too small
        return begun.get() - refusedBefore;
    }

    /** Returns the number of calls ended, without those that were refused. */
    long ended() {
        return Math.max(0, allEnded() - refused.get());
    }

    /** Lets no more calls begin, except inside of others. */
    public void withdraw() {
        withdrawn = true;
    }

    public boolean isWithdrawn() {
        return withdrawn;
    }

    /** Lets no more calls begin. */
    public void leave() {
        hasLeft = true;
    }

    /**
     * Waits until nothing is in flight, or until a moment of the monotonic clock; returns the number of calls still in
     * flight.
     */
    public long awaitDrained(Clock clock, Threads threads, long untilNs) {
        boolean interrupted = false;
        long left; // a refused call is in flight for a moment: the count that ended the wait is the result
        synchronized (drained) {
            while ((left = inFlight()) > 0 && !interrupted) {
                long leftMs = TimeUnit.NANOSECONDS.toMillis(untilNs - clock.monotonicNs());
                if (leftMs <= 0) {
                    break;
                }
                try {
                    threads.waitOn(
                            drained, Math.min(leftMs, MAX_WAIT_MS)); // bounded: the clock may be one that a test moves
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return left;
    }
}
