package io.waybill.metrics;

import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.waybill.api.metrics.WorkerMetrics;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;

/**
 * The named values of workers as metrics. Counters and gauges of bundles, and values that this version does not know, have their
 * names as labels.
 *
 * <p><b>Threads.</b> One at a time.
 */
final class ValueSnapshots {

    private static final double MS_PER_S = 1e3;

    private final Map<NamedValue, CounterSnapshot.Builder> counters = new EnumMap<>(NamedValue.class);
    private final Map<NamedValue, GaugeSnapshot.Builder> gauges = new EnumMap<>(NamedValue.class);
    private final CounterSnapshot.Builder ofBundles = CounterSnapshot.builder()
            .name("waybill_bundle_events")
            .help("What bundles count with the counters of their Broker.");
    private final GaugeSnapshot.Builder gaugesOfBundles =
            GaugeSnapshot.builder().name("waybill_bundle_value").help("What the gauges of bundles showed last.");
    private final GaugeSnapshot.Builder others = GaugeSnapshot.builder()
            .name("waybill_worker_value")
            .help("Values of workers of another version, by their name.");

    ValueSnapshots() {
        for (NamedValue each : NamedValue.values()) {
            if (each.isCounter()) {
                counters.put(each, CounterSnapshot.builder().name(each.metric()).help(each.help()));
            } else {
                gauges.put(each, GaugeSnapshot.builder().name(each.metric()).help(each.help()));
            }
        }
    }

    /** Adds the values of a worker, once per worker. */
    void add(Labels worker, WorkerMetrics metrics) {
        Map<String, Long> values = new HashMap<>(metrics.values());
        for (NamedValue each : NamedValue.values()) {
            Long value = values.remove(each.key());
            if (value != null) {
                add(each, worker, each.isInMs() ? value / MS_PER_S : value, metrics.startedMs());
            }
        }
        values.forEach((name, value) -> {
            int slash = name.indexOf('/');
            int colon = name.indexOf(':');
            if (slash < 0 && colon >= 0) {
                Labels labels = Labels.of("bundle", name.substring(0, colon), "gauge", name.substring(colon + 1));
                gaugesOfBundles.dataPoint(gauge(worker.merge(labels), value));
            } else if (slash < 0) {
                others.dataPoint(gauge(worker.merge(Labels.of("name", name)), value));
            } else {
                Labels labels = worker.merge(
                        Labels.of("bundle", name.substring(0, slash), "counter", name.substring(slash + 1)));
                ofBundles.dataPoint(counter(labels, value, metrics.startedMs()));
            }
        });
    }

    private void add(NamedValue what, Labels worker, double value, long startedMs) {
        if (what.isCounter()) {
            counters.get(what).dataPoint(counter(worker, value, startedMs));
        } else {
            gauges.get(what).dataPoint(gauge(worker, value));
        }
    }

    private static GaugeSnapshot.GaugeDataPointSnapshot gauge(Labels labels, double value) {
        return GaugeSnapshot.GaugeDataPointSnapshot.builder()
                .labels(labels)
                .value(value)
                .build();
    }

    private static CounterSnapshot.CounterDataPointSnapshot counter(Labels labels, double value, long startedMs) {
        return CounterSnapshot.CounterDataPointSnapshot.builder()
                .labels(labels)
                .value(Math.max(0, value)) // a counter is not negative, and a damaged file may be
                .createdTimestampMillis(startedMs)
                .build();
    }

    void addTo(MetricSnapshots.Builder all) {
        counters.values().forEach(each -> all.metricSnapshot(each.build()));
        gauges.values().forEach(each -> all.metricSnapshot(each.build()));
        all.metricSnapshot(ofBundles.build())
                .metricSnapshot(gaugesOfBundles.build())
                .metricSnapshot(others.build());
    }
}
