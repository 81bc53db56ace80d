package io.waybill.bench.measure;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The time in which a cache line goes from one processor to another and back, as two threads pass it to each other. A
 * round trip between processes pays it several times. In a virtual machine it depends on where the host runs the
 * virtual processors, and may change by a factor of five from one minute to the next.
 */
public final class CacheLine {

    /** Result if the two threads never ran on two processors at the same time. */
    public static final long ONE_PROCESSOR = 0;

    private static final long FOR_NS = 50_000_000;
    private static final long MAX_NS = 500_000_000; // until there is a first figure
    private static final int BATCH = 100;
    // Between processors a line takes some 100 ns. Threads on one processor pass it once in a time slice, 0.7 ms or
    // more.
    private static final long MAX_BATCH_NS = BATCH * 5_000L;
    private static final long TOO_LONG = Long.MAX_VALUE;
    private static final int SPINS = 1024; // between readings of the clock
    private static final long REST_NS = TimeUnit.MILLISECONDS.toNanos(1);

    private CacheLine() {}

    /**
     * Measures for 50 ms, and returns the least mean of a hundred in a row, in ns: what a thread that is interrupted
     * takes does not count. Where both threads are on one processor, this one rests, so that it is woken on another
     * one; {@link #ONE_PROCESSOR} if that does not happen in half a second.
     */
    public static long roundTripNs() {
        AtomicLong line = new AtomicLong(); // even: for this thread; odd: for the other one; negative: the end
        Thread other = new Thread(() -> passBack(line), "cache-line");
        other.setDaemon(true);
        other.start();
        long leastNs = ONE_PROCESSOR;
        long startNs = System.nanoTime();
        while (System.nanoTime() - startNs < (leastNs == ONE_PROCESSOR ? MAX_NS : FOR_NS)) {
            long batchNs = isForOther(line) ? TOO_LONG : pass(line);
            if (batchNs == TOO_LONG) {
                LockSupport.parkNanos(REST_NS);
            } else if (leastNs == ONE_PROCESSOR || batchNs / BATCH < leastNs) {
                leastNs = Math.max(1, batchNs / BATCH);
            }
        }
        line.set(-1);
        return leastNs;
    }

    private static boolean isForOther(AtomicLong line) {
        return (line.get() & 1) == 1;
    }

    /**
     * Passes the line for a batch. Returns how long that took, or {@link #TOO_LONG} for two processors: then it may be
     * for the other thread.
     */
    private static long pass(AtomicLong line) {
        long sinceNs = System.nanoTime();
        for (int i = 0; i < BATCH; i++) {
            line.set(line.get() + 1);
            for (int spins = 1; isForOther(line); spins++) {
                Thread.onSpinWait();
                if (spins % SPINS == 0 && System.nanoTime() - sinceNs > MAX_BATCH_NS) {
                    return TOO_LONG;
                }
            }
        }
        long batchNs = System.nanoTime() - sinceNs;
        return batchNs > MAX_BATCH_NS ? TOO_LONG : batchNs;
    }

    private static void passBack(AtomicLong line) {
        for (long turn = 0; turn >= 0; turn = line.get()) {
            if ((turn & 1) == 1) {
                line.compareAndSet(turn, turn + 1); // not over the end
            } else {
                Thread.onSpinWait();
            }
        }
    }
}
