package io.waybill.bench.measure;

import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * Some seconds of calls, and the times of those that were timed: all of them where they are made one after the other,
 * one at a time among many in flight, so that taking times does not slow the others. A time is what a call takes beyond
 * the work of the other side.
 *
 * <p><b>Threads.</b> One thread begins calls and one records their times; they may be the same.
 */
public final class Phase {

    private static final long MAX_NS = TimeUnit.MINUTES.toNanos(1);
    private static final long SECOND_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long NONE = -1;

    private final long startNs = System.nanoTime();
    private final long lengthNs;
    private final long maxCalls;
    private final long[] inSecond;
    private final Histogram times = new Histogram(MAX_NS, 3);
    private long sinceNs; // of the call that is timed
    private volatile long timed =
            NONE; // number of that call: set by the thread that begins calls, cleared by the one that records

    Phase(long lengthNs, long maxCalls) {
        this.lengthNs = lengthNs;
        this.maxCalls = maxCalls;
        this.inSecond = new long[(int) (lengthNs / SECOND_NS)];
    }

    /** Returns whether no further call is made after this number of calls. */
    public boolean isOver(long calls) {
        return isOver(calls, System.nanoTime());
    }

    boolean isOver(long calls, long nowNs) {
        return nowNs - startNs >= lengthNs || calls >= maxCalls;
    }

    /** Records a call that has its response now. Returns the time. */
    long record(long sinceNs, long takenNs) {
        long nowNs = System.nanoTime();
        times.recordValue(Math.min(MAX_NS, Math.max(0, nowNs - sinceNs - takenNs)));
        long second = (nowNs - startNs) / SECOND_NS;
        if (second < inSecond.length) { // the last call may end later
            inSecond[(int) second]++;
        }
        return nowNs;
    }

    /** Begins to time a call of those in flight, unless another one is timed. Returns whether it is. */
    public boolean begin(long call) {
        if (timed != NONE) {
            return false;
        }
        sinceNs = System.nanoTime();
        timed = call;
        return true;
    }

    /** Returns whether a call is the one that is timed. */
    public boolean isTimed(long call) {
        return timed == call;
    }

    /** Records the call that is timed: it has its response. */
    public void end(long takenNs) {
        record(sinceNs, takenNs);
        timed = NONE;
    }

    /** Forgets the call that is timed: it failed. */
    public void abandon() {
        timed = NONE;
    }

    long inSecond(int second) {
        return inSecond[second];
    }

    Histogram times() {
        return times;
    }
}
