package io.waybill.bench.measure;

import org.HdrHistogram.Histogram;

/** Cost of calls on both sides since the creation of this object, in the calling process. One thread. */
final class CallCost {

    private final long servedPid;
    private final ProcessUse ownBefore = ProcessUse.ofThis();
    private final ProcessUse servedBefore;
    private final long allocatedBefore = Allocation.ofThisProcess();
    private final long startNs;

    /** @param servedPid the process that serves the calls */
    CallCost(long servedPid) {
        this.servedPid = servedPid;
        this.servedBefore = ProcessUse.of(servedPid);
        this.startNs = System.nanoTime();
    }

    /**
     * Returns the rate and the times of calls, and what each took on both sides: the served side's names begin with
     * {@code served_}.
     */
    Figures figures(long calls, Histogram times) {
        double perSecond = calls * 1e9 / (System.nanoTime() - startNs);
        long allocated = Allocation.ofThisProcess() - allocatedBefore;
        if (calls == 0) {
            throw new IllegalStateException("nothing was measured: expected at least one call, found none");
        }
        Figures figures = Percentiles.of(times)
                .put("calls", calls)
                .put("calls_per_s", Math.round(perSecond))
                .put("allocated_bytes_per_call", Math.round((double) allocated / calls));
        ProcessUse.ofThis().put(figures, "", ownBefore, calls);
        ProcessUse.of(servedPid).put(figures, "served_", servedBefore, calls);
        return figures.put("times", Percentiles.encode(times));
    }
}
