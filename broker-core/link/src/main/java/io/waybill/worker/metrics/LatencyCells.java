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

    private final SingleWriterCounter count = new SingleWriterCounter();
    private final SingleWriterCounter requestBytes = new SingleWriterCounter();
    private final SingleWriterCounter responseBytes = new SingleWriterCounter();
    private final SingleWriterCounter sumNs = new SingleWriterCounter();
    private final SingleWriterCounter maxNs = new SingleWriterCounter();
    private long[] buckets; // null until the first latency

    void add(long ns, int bytesOfRequest, int bytesOfResponse) {
        long[] used = buckets;
        if (used == null) {
            used = new long[LatencyHistogram.BUCKETS];
            BUCKETS.setRelease(this, used);
        }
        long latency = Math.min(Math.max(0, ns), MAX_NS);
        int bucket = LatencyHistogram.bucketOf(latency);
        CELLS.setOpaque(used, bucket, used[bucket] + 1);
        requestBytes.add(bytesOfRequest);
        responseBytes.add(bytesOfResponse);
        sumNs.add(latency);
        maxNs.raiseTo(latency);
        count.increment(); // last: a thread that sees it sees the latency
    }

    long count() {
        return count.sum();
    }

    long requestBytes() {
        return requestBytes.sum();
    }

    long responseBytes() {
        return responseBytes.sum();
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
        return LatencyHistogram.of(copy, sumNs.sum(), maxNs.sum());
    }
}
