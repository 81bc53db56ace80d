package io.waybill.bench.measure;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The time in which a cache line goes from one processor to another and back, as two threads pass it to each other. A round trip between processes pays it several times. In a virtual machine it
 * depends on where the host runs the virtual processors, and may change by a factor of five from one minute to the next.
 */
public final class CacheLine {

    private static final long FOR_NS = 50_000_000;
    private static final int BATCH = 100;

    private CacheLine() {}

    /** Measures for 50 ms, and returns the least mean of a hundred in a row: what a thread that is interrupted takes does not count. */
    public static long roundTripNs() {
        AtomicLong line = new AtomicLong(); // even: for this thread; odd: for the other one; negative: the end
        Thread other = new Thread(() -> passBack(line), "cache-line");
        other.setDaemon(true);
        other.start();
        long leastNs = Long.MAX_VALUE;
        long startNs = System.nanoTime();
        for (long fromNs = startNs; fromNs - startNs < FOR_NS; ) {
            for (int i = 0; i < BATCH; i++) {
                long turn = line.get();
                line.set(turn + 1);
                while (line.get() == turn + 1) {
                    Thread.onSpinWait();
                }
            }
            long nowNs = System.nanoTime();
            leastNs = Math.min(leastNs, (nowNs - fromNs) / BATCH);
            fromNs = nowNs;
        }
        line.set(-1);
        return leastNs;
    }

    private static void passBack(AtomicLong line) {
        for (long turn = 0; turn >= 0; turn = line.get()) {
            if ((turn & 1) == 1) {
                line.set(turn + 1);
            } else {
                Thread.onSpinWait();
            }
        }
    }
}
