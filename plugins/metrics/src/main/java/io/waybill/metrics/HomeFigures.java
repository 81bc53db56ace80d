package io.waybill.metrics;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.prometheus.metrics.model.snapshots.Unit;
import io.waybill.api.ErrorCode;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Collector of the figures of all live workers of the home as Prometheus metrics, read for each scrape.
 *
 * <p><b>Untrusted.</b> Operations are arbitrary text: label values, which the writers escape. Of equal labels, which
 * only a damaged file has, one is used.
 *
 * <p><b>Threads.</b> Any.
 */
final class HomeFigures implements MultiCollector {

    private static final double NS_PER_S = 1e9;
    private static final double MS_PER_S = 1e3;
    /** First power of two of the buckets, which end at powers of two from 1 µs to 69 s. */
    private static final int FIRST_BITS = 10;

    private static final int LAST_BITS = 36;

    private final HomeMetrics home;

    HomeFigures(HomeMetrics home) {
        this.home = home;
    }

    @Override
    public MetricSnapshots collect() {
        List<WorkerMetrics> workers;
        try {
            workers = home.read();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Collected collected = new Collected();
        workers.forEach(collected::add);
        return collected.snapshots();
    }

    /** Result of one scrape. */
    private static final class Collected {

        private final Map<Labels, WorkerMetrics> workers = new HashMap<>();
        private final Map<Labels, OperationMetrics> operations = new HashMap<>();
        private final Map<Labels, Long> startedMs = new HashMap<>(); // join time of the worker of an operation
        private final ValueSnapshots values = new ValueSnapshots();

        void add(WorkerMetrics worker) {
            Labels name = Labels.of("worker", worker.worker().name());
            if (workers.putIfAbsent(name, worker) == null) {
                worker.served().forEach(operation -> add(worker, "served", operation));
                worker.called().forEach(operation -> add(worker, "called", operation));
                values.add(name, worker);
            }
        }

        private void add(WorkerMetrics worker, String side, OperationMetrics operation) {
            Labels labels = Labels.of(
                    "worker",
                    worker.worker().name(),
                    "side",
                    side,
                    "type",
                    operation.type().name(),
                    "operation",
                    operation.operation(),
                    "peer",
                    operation.peer());
            operations.putIfAbsent(labels, operation);
            startedMs.putIfAbsent(labels, worker.startedMs());
        }

        MetricSnapshots snapshots() {
            MetricSnapshots.Builder all = MetricSnapshots.builder();
            all.metricSnapshot(info());
            all.metricSnapshot(startTime());
            all.metricSnapshot(requests());
            all.metricSnapshot(errors());
            all.metricSnapshot(bytes(
                    "waybill_request_bytes",
                    "Size of the records of requests with an outcome, without tensors in segments.",
                    true));
            all.metricSnapshot(bytes(
                    "waybill_response_bytes",
                    "Size of the records of their responses, without tensors in segments.",
                    false));
            all.metricSnapshot(
                    gauge("waybill_requests_in_flight", "Requests without an outcome, apart from parked ones.", false));
            all.metricSnapshot(
                    gauge("waybill_requests_parked", "Requests that wait for a handler, a policy or a thread.", true));
            all.metricSnapshot(latencies());
            all.metricSnapshot(maxima());
            values.addTo(all);
            return all.build();
        }

        private InfoSnapshot info() {
            InfoSnapshot.Builder info =
                    InfoSnapshot.builder().name("waybill_worker").help("Live workers of the home.");
            workers.forEach((name, worker) -> info.dataPoint(InfoSnapshot.InfoDataPointSnapshot.builder()
                    .labels(name.merge(Labels.of(
                            "worker_id",
                            String.valueOf(worker.worker().id()),
                            "epoch",
                            String.valueOf(worker.epoch()),
                            "pid",
                            String.valueOf(worker.pid()))))
                    .build()));
            return info.build();
        }

        private GaugeSnapshot startTime() {
            GaugeSnapshot.Builder times = GaugeSnapshot.builder()
                    .name("waybill_worker_start_time_seconds")
                    .unit(Unit.SECONDS)
                    .help("When the worker joined the home, since 1970.");
            workers.forEach((name, worker) -> times.dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder()
                    .labels(name)
                    .value(worker.startedMs() / MS_PER_S)
                    .build()));
            return times.build();
        }

        private CounterSnapshot requests() {
            CounterSnapshot.Builder requests =
                    CounterSnapshot.builder().name("waybill_requests").help("Requests with an outcome.");
            operations.forEach((labels, operation) -> requests.dataPoint(counted(labels, labels, operation.count())));
            return requests.build();
        }

        private CounterSnapshot.CounterDataPointSnapshot counted(Labels operation, Labels labels, double value) {
            return CounterSnapshot.CounterDataPointSnapshot.builder()
                    .labels(labels)
                    .value(value)
                    .createdTimestampMillis(startedMs.get(operation))
                    .build();
        }

        private CounterSnapshot errors() {
            CounterSnapshot.Builder errors = CounterSnapshot.builder()
                    .name("waybill_errors")
                    .help("Requests that failed, by the code of the error.");
            operations.forEach((labels, operation) -> {
                for (Map.Entry<ErrorCode, Long> error : operation.errors().entrySet()) {
                    Labels coded = labels.merge(Labels.of("code", error.getKey().name()));
                    errors.dataPoint(counted(labels, coded, error.getValue()));
                }
            });
            return errors.build();
        }

        private CounterSnapshot bytes(String name, String help, boolean isOfRequests) {
            CounterSnapshot.Builder bytes =
                    CounterSnapshot.builder().name(name).unit(Unit.BYTES).help(help);
            operations.forEach((labels, operation) -> bytes.dataPoint(
                    counted(labels, labels, isOfRequests ? operation.requestBytes() : operation.responseBytes())));
            return bytes.build();
        }

        private GaugeSnapshot gauge(String name, String help, boolean isParked) {
            GaugeSnapshot.Builder gauge = GaugeSnapshot.builder().name(name).help(help);
            operations.forEach((labels, operation) -> gauge.dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder()
                    .labels(labels)
                    .value(isParked ? operation.parked() : operation.inFlight())
                    .build()));
            return gauge.build();
        }

        private HistogramSnapshot latencies() {
            HistogramSnapshot.Builder latencies = HistogramSnapshot.builder()
                    .name("waybill_request_duration_seconds")
                    .unit(Unit.SECONDS)
                    .help("Time from the record of a request to that of its response, or to its outcome.");
            operations.forEach(
                    (labels, operation) -> latencies.dataPoint(HistogramSnapshot.HistogramDataPointSnapshot.builder()
                            .labels(labels)
                            .classicHistogramBuckets(buckets(operation.latency()))
                            .sum(operation.latency().sumNs() / NS_PER_S)
                            .createdTimestampMillis(startedMs.get(labels))
                            .build()));
            return latencies.build();
        }

        private GaugeSnapshot maxima() {
            GaugeSnapshot.Builder maxima = GaugeSnapshot.builder()
                    .name("waybill_request_duration_max_seconds")
                    .unit(Unit.SECONDS)
                    .help("The longest of these times since the worker joined.");
            operations.forEach((labels, operation) -> maxima.dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder()
                    .labels(labels)
                    .value(operation.latency().maxNs() / NS_PER_S)
                    .build()));
            return maxima.build();
        }
    }

    /** Returns the counts of a histogram in coarser buckets, which are the same for all. */
    static ClassicHistogramBuckets buckets(LatencyHistogram latency) {
        ClassicHistogramBuckets.Builder buckets = ClassicHistogramBuckets.builder();
        int next = 0;
        for (int bits = FIRST_BITS; bits <= LAST_BITS; bits++) {
            int end = LatencyHistogram.bucketOf(1L << bits);
            buckets.bucket((1L << bits) / NS_PER_S, counts(latency, next, end));
            next = end;
        }
        return buckets.bucket(Double.POSITIVE_INFINITY, counts(latency, next, LatencyHistogram.BUCKETS))
                .build();
    }

    private static long counts(LatencyHistogram latency, int from, int end) {
        long count = 0;
        for (int i = from; i < end; i++) {
            count += latency.count(i);
        }
        return count;
    }
}
