package io.waybill.dispatch;

import io.waybill.api.MessageHandler;
import io.waybill.host.Clock;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One handler under one key, with the count of what it is doing.
 *
 * <p>Every {@link #begin()} that returned true is followed by exactly one {@link #end}: when the request's outcome is settled, a late
 * answer included. In between the handler is not taken away, unless the drain limit passes.
 *
 * <p><b>Threads.</b> Any.
 */
public final class HandlerEntry {

    private static final long LONGEST_WAIT_MS = 50;

    private final HandlerKey key;
    private final HandlerSpec spec;
    private final long sinceWallNs;

    // In flight are begun - ended. Two counters that only grow need one atomic add per call, and never wrap.
    private final AtomicLong begun = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();

    // Set by the withdrawing thread before it reads the counters; read by serving threads after they wrote them. One of
    // the two
    // sees the other, so no request slips in after withdraw returned.
    private volatile boolean withdrawn;

    private final Object drained = new Object();

    HandlerEntry(HandlerKey key, HandlerSpec spec, long sinceWallNs) {
        this.key = key;
        this.spec = spec;
        this.sinceWallNs = sinceWallNs;
    }

    /** Counts a request in; false when the handler was withdrawn, and the caller looks again in the registry's new table. */
    public boolean begin() {
        begun.getAndIncrement();
        if (!withdrawn) {
            return true;
        }
        refused.getAndIncrement();
        countOut();
        return false;
    }

    /** Counts a request out that {@link #begin()} counted in. */
    public void end(Outcome outcome) {
        if (outcome == Outcome.FAILED) {
            failed.getAndIncrement();
        }
        countOut();
    }

    private void countOut() {
        ended.getAndIncrement();
        if (withdrawn) {
            synchronized (drained) {
                drained.notifyAll();
            }
        }
    }

    public HandlerKey key() {
        return key;
    }

    public MessageHandler handler() {
        return spec.handler();
    }

    /** Whether the handler runs on the worker's poller. */
    public boolean nonBlocking() {
        return spec.nonBlocking();
    }

    public HandlerExecutor executor() {
        return spec.executor();
    }

    /** To be set around every call of the handler. */
    public ClassLoader contextClassLoader() {
        return spec.contextClassLoader();
    }

    public Provider provider() {
        return spec.provider();
    }

    int ranking() {
        return spec.ranking();
    }

    /** Requests begun and not ended. */
    public long inFlight() {
        long endedBefore = ended.get(); // read first: the difference is then never too small
        return begun.get() - endedBefore;
    }

    HandlerStatus status(HandlerStatus.State state, long parked) {
        long endedBefore = ended.get();
        long failedNow = failed.get();
        long done = Math.max(0, endedBefore - failedNow - refused.get());
        return new HandlerStatus(
                key, state, provider(), sinceWallNs, nonBlocking(), inFlight(), parked, done, failedNow);
    }

    /** Lets no more requests begin. The entry must have left the published table before. */
    void withdraw() {
        withdrawn = true;
    }

    /** Waits until nothing is in flight, or until a moment of the monotonic clock; returns what is still in flight. */
    long awaitDrained(Clock clock, long untilNs) {
        boolean interrupted = false;
        synchronized (drained) {
            while (inFlight() > 0 && !interrupted) {
                long leftMs = TimeUnit.NANOSECONDS.toMillis(untilNs - clock.monotonicNs());
                if (leftMs <= 0) {
                    break;
                }
                try {
                    drained.wait(
                            Math.min(leftMs, LONGEST_WAIT_MS)); // not longer: the clock may be one that a test moves
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return inFlight();
    }
}
