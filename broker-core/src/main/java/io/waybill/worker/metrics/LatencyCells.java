package io.waybill.worker.metrics;

import io.waybill.api.metrics.LatencyHistogram;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Latencies and bytes of requests that have their outcome. One writer at a time, under a lock or permit of its owner;
 * any thread reads.
 */
final class LatencyCells {

    /** Max latency, about ten hours: higher ones count as this one, so that a sum of them does not overflow soon. */
    private static final long MAX_NS = 1L << 45;

    private static final VarHandle CELLS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle BUCKETS;

    static {
        try {
            BUCKETS = MethodHandles.lookup().findVarHandle(LatencyCells.class, "buckets", long[].class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static final int COUNT = 0;
    private static final int REQUEST_BYTES = 1;
    private static final int RESPONSE_BYTES = 2;
    private static final int SUM = 3;
    private static final int MAX = 4;

    private final long[] sums = new long[5];
    private long[] buckets; // null until the first latency

    void add(long ns, int requestBytes, int responseBytes) {
        long[] used = buckets;
        if (used == null) {
            used = new long[LatencyHistogram.BUCKETS];
            BUCKETS.setRelease(this, used);
        }
        long latency = Math.min(Math.max(0, ns), MAX_NS);
        add(used, LatencyHistogram.bucketOf(latency), 1);
        add(sums, REQUEST_BYTES, requestBytes);
        add(sums, RESPONSE_BYTES, responseBytes);
        add(sums, SUM, latency);
        if (latency > sums[MAX]) {
            CELLS.setOpaque(sums, MAX, latency);
        }
        CELLS.setRelease(sums, COUNT, sums[COUNT] + 1); // last: a thread that sees it sees the latency
    }

    private static void add(long[] cells, int at, long more) {
        CELLS.setOpaque(cells, at, cells[at] + more);
    }

    long count() {
        return (long) CELLS.getAcquire(sums, COUNT);
    }

    long requestBytes() {
        return (long) CELLS.getOpaque(sums, REQUEST_BYTES);
    }

    long responseBytes() {
        return (long) CELLS.getOpaque(sums, RESPONSE_BYTES);
    }

    /** Returns the latencies that were counted, and perhaps one that is being added. */
    LatencyHistogram latency() {
        long[] used = (long[]) BUCKETS.getAcquire(this);
        if (used == null) {
            return LatencyHistogram.EMPTY;
        }
        long[] copy = new long[used.length];
        for (int i = 0; i < copy.length; i++) {
            copy[i] = (long) CELLS.getOpaque(used, i);
        }
        return LatencyHistogram.of(copy, (long) CELLS.getOpaque(sums, SUM), (long) CELLS.getOpaque(sums, MAX));
    }
}
