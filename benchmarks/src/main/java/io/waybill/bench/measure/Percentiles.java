package io.waybill.bench.measure;

import org.HdrHistogram.Histogram;

/** The mean and the percentiles that are reported of times. */
public final class Percentiles {

    private Percentiles() {}

    public static Figures of(Histogram ns) {
        return new Figures()
                .put("mean_ns", Math.round(ns.getMean()))
                .put("p50_ns", ns.getValueAtPercentile(50))
                .put("p99_ns", ns.getValueAtPercentile(99))
                .put("p999_ns", ns.getValueAtPercentile(99.9))
                .put("max_ns", ns.getMaxValue());
    }
}
