package io.waybill.metrics.otlp;

import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.DataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot;
import io.prometheus.metrics.model.snapshots.Label;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.prometheus.metrics.model.snapshots.Quantile;
import io.prometheus.metrics.model.snapshots.SummarySnapshot;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot;
import java.util.concurrent.TimeUnit;

/**
 * Encoder of a scrape as OTLP's {@code ExportMetricsServiceRequest}. Names are those of Prometheus, counters without
 * {@code _total}; all sums are cumulative. Stateless.
 */
public final class MetricsRequest {

    private static final int GAUGE = 5;
    private static final int SUM = 7;
    private static final int HISTOGRAM = 9;
    private static final int SUMMARY = 11;
    private static final int CUMULATIVE = 2;
    private static final int START = 2;
    private static final int TIME = 3;

    private MetricsRequest() {}

    /** @param nowNs wall clock */
    public static byte[] encode(OtlpResource from, MetricSnapshots metrics, long nowNs) {
        return new ProtoWriter()
                .message(1, resourceMetrics -> {
                    from.write(resourceMetrics, 1);
                    resourceMetrics.message(2, scopeMetrics -> {
                        from.writeScope(scopeMetrics, 1);
                        for (MetricSnapshot metric : metrics) {
                            scopeMetrics.message(2, out -> write(out, metric, nowNs));
                        }
                    });
                })
                .toByteArray();
    }

    private static void write(ProtoWriter out, MetricSnapshot metric, long nowNs) {
        String help = metric.getMetadata().getHelp();
        out.string(1, metric.getMetadata().getPrometheusName()).string(2, help == null ? "" : help);
        out.string(
                3,
                metric.getMetadata().hasUnit()
                        ? unit(metric.getMetadata().getUnit().toString())
                        : "");
        if (metric instanceof CounterSnapshot counter) {
            out.message(SUM, sum -> {
                counter.getDataPoints().forEach(point -> number(sum, point, point.getValue(), nowNs));
                sum.varint(2, CUMULATIVE).bool(3, true);
            });
        } else if (metric instanceof GaugeSnapshot gauge) {
            out.message(
                    GAUGE, all -> gauge.getDataPoints().forEach(point -> number(all, point, point.getValue(), nowNs)));
        } else if (metric instanceof UnknownSnapshot unknown) {
            out.message(
                    GAUGE,
                    all -> unknown.getDataPoints().forEach(point -> number(all, point, point.getValue(), nowNs)));
        } else if (metric instanceof InfoSnapshot info) {
            out.message(GAUGE, all -> info.getDataPoints().forEach(point -> number(all, point, 1, nowNs)));
        } else if (metric instanceof HistogramSnapshot histogram) {
            out.message(HISTOGRAM, all -> {
                histogram.getDataPoints().forEach(point -> all.message(1, each -> write(each, point, nowNs)));
                all.varint(2, CUMULATIVE);
            });
        } else if (metric instanceof SummarySnapshot summary) {
            out.message(
                    SUMMARY,
                    all -> summary.getDataPoints().forEach(point -> all.message(1, each -> write(each, point, nowNs))));
        }
    }

    /** Returns the UCUM form of a Prometheus unit. */
    private static String unit(String name) {
        return switch (name) {
            case "seconds" -> "s";
            case "bytes" -> "By";
            default -> name;
        };
    }

    private static void number(ProtoWriter out, DataPointSnapshot point, double value, long nowNs) {
        out.message(1, each -> {
            begin(each, point, nowNs, 7);
            each.presentDouble(4, value);
        });
    }

    private static void begin(ProtoWriter out, DataPointSnapshot point, long nowNs, int attributes) {
        out.fixed64(START, TimeUnit.MILLISECONDS.toNanos(point.getCreatedTimestampMillis()))
                .fixed64(TIME, nowNs);
        for (Label label : point.getLabels()) {
            OtlpResource.attribute(out, attributes, label.getName(), label.getValue());
        }
    }

    private static void write(ProtoWriter out, HistogramSnapshot.HistogramDataPointSnapshot point, long nowNs) {
        begin(out, point, nowNs, 9);
        ClassicHistogramBuckets buckets = point.getClassicBuckets();
        long[] counts = new long[buckets.size()];
        long[] bounds = new long[Math.max(0, buckets.size() - 1)]; // the last one is infinite
        long count = 0;
        for (int i = 0; i < counts.length; i++) {
            counts[i] = buckets.getCount(i);
            count += counts[i];
            if (i < bounds.length) {
                bounds[i] = Double.doubleToRawLongBits(buckets.getUpperBound(i));
            }
        }
        out.fixed64(4, count)
                .presentDouble(5, point.getSum())
                .packed64(6, counts)
                .packed64(7, bounds);
    }

    private static void write(ProtoWriter out, SummarySnapshot.SummaryDataPointSnapshot point, long nowNs) {
        begin(out, point, nowNs, 7);
        out.fixed64(4, point.getCount()).presentDouble(5, point.getSum());
        for (Quantile quantile : point.getQuantiles()) {
            out.message(6, each -> each.presentDouble(1, quantile.getQuantile()).presentDouble(2, quantile.getValue()));
        }
    }
}
