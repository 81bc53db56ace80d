package io.waybill.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.metrics.v1.AggregationTemporality;
import io.opentelemetry.proto.metrics.v1.HistogramDataPoint;
import io.opentelemetry.proto.metrics.v1.Metric;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.metrics.otlp.MetricsRequest;
import io.waybill.metrics.otlp.OtlpResource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The figures of workers, as Prometheus and receivers of OTLP get them. */
@Timeout(180)
class HomeFiguresTest {

    private static final String HOSTILE = "evil\"} 1\n# TYPE waybill_x counter\nwaybill_x{a=\"\\\t\u00e4\ud83d\ude00";
    private static final Map<String, String> COUNT = Map.of(
            "worker", "ps0", "side", "served", "type", "NAMED_CALL", "operation", "text.count", "peer", "trainer");

    @TempDir
    private Path directory;

    private List<WorkerMetrics> workers = List.of(worker("ps0", 3), worker("trainer", 4));
    private final HomeMetrics home = () -> workers;
    private final NodeFigures figures = new NodeFigures(home, "ps0");

    @AfterEach
    void close() {
        figures.close();
    }

    static LatencyHistogram latencies(long... ns) {
        long[] counts = new long[LatencyHistogram.BUCKETS];
        long sum = 0;
        long max = 0;
        for (long each : ns) {
            counts[LatencyHistogram.bucketOf(each)]++;
            sum += each;
            max = Math.max(max, each);
        }
        return LatencyHistogram.of(counts, sum, max);
    }

    private static WorkerMetrics worker(String name, int id) {
        OperationMetrics count = new OperationMetrics(
                MessageType.NAMED_CALL,
                "text.count",
                "trainer",
                5,
                Map.of(ErrorCode.TIMED_OUT, 1L, ErrorCode.REFUSED, 2L),
                1000,
                500,
                7,
                2,
                latencies(100, 1023, 1024, 3_000_000, 1L << 41));
        OperationMetrics hostile =
                new OperationMetrics(MessageType.NAMED_CALL, HOSTILE, "trainer", 1, Map.of(), 1, 1, 0, 0, latencies(5));
        return new WorkerMetrics(
                new WorkerInfo(id, name),
                2,
                4711,
                1_700_000_000_000L,
                1_700_000_001_000L,
                List.of(count, hostile, count),
                List.of(),
                Map.of(
                        "calls.sent",
                        12L,
                        "archive.lag-ms",
                        1500L,
                        "new.thing",
                        9L,
                        "org.acme/words",
                        8L,
                        "org.acme:depth",
                        -5L));
    }

    private Scrape scrape() throws IOException {
        return Scrape.parse(new String(figures.page("").body(), StandardCharsets.UTF_8));
    }

    @Test
    void haveTheNumbersOfTheWorkers() throws Exception {
        Scrape scrape = scrape();
        assertThat(scrape.of("waybill_requests_total")).containsEntry(COUNT, 5.0);
        assertThat(scrape.sum("waybill_errors_total", Map.of("worker", "ps0", "code", "REFUSED")))
                .isEqualTo(2);
        assertThat(scrape.sum("waybill_errors_total", Map.of("worker", "ps0"))).isEqualTo(3);
        assertThat(scrape.of("waybill_request_bytes_total")).containsEntry(COUNT, 1000.0);
        assertThat(scrape.of("waybill_response_bytes_total")).containsEntry(COUNT, 500.0);
        assertThat(scrape.of("waybill_requests_in_flight")).containsEntry(COUNT, 7.0);
        assertThat(scrape.of("waybill_requests_parked")).containsEntry(COUNT, 2.0);
        assertThat(scrape.of("waybill_request_duration_seconds_count")).containsEntry(COUNT, 5.0);
        List<Double> buckets = scrape.buckets("waybill_request_duration_seconds", COUNT);
        assertThat(buckets.get(0)).as("up to 1.024 us").isEqualTo(2);
        assertThat(buckets.get(1)).as("up to 2.048 us").isEqualTo(3);
        assertThat(buckets.get(buckets.size() - 2)).as("up to 69 s").isEqualTo(4);
        assertThat(buckets.get(buckets.size() - 1)).isEqualTo(5);
        assertThat(scrape.of("waybill_worker_info"))
                .containsEntry(Map.of("worker", "trainer", "worker_id", "4", "epoch", "2", "pid", "4711"), 1.0);
        assertThat(scrape.sum("waybill_worker_start_time_seconds", Map.of("worker", "ps0")))
                .isEqualTo(1.7e9);
    }

    @Test
    void haveTheNamedValues() throws Exception {
        Scrape scrape = scrape();
        assertThat(scrape.of("waybill_calls_sent_total")).containsEntry(Map.of("worker", "ps0"), 12.0);
        assertThat(scrape.of("waybill_archive_lag_seconds")).containsEntry(Map.of("worker", "ps0"), 1.5);
        assertThat(scrape.of("waybill_worker_value")).containsEntry(Map.of("worker", "ps0", "name", "new.thing"), 9.0);
        assertThat(scrape.of("waybill_bundle_events_total"))
                .containsEntry(Map.of("worker", "ps0", "bundle", "org.acme", "counter", "words"), 8.0);
        assertThat(scrape.of("waybill_bundle_value"))
                .containsEntry(Map.of("worker", "ps0", "bundle", "org.acme", "gauge", "depth"), -5.0);
    }

    @Test
    void haveMicrometersFiguresOfTheNode() throws Exception {
        Scrape scrape = scrape();
        assertThat(scrape.sum("jvm_memory_used_bytes", Map.of("worker", "ps0", "area", "heap")))
                .isPositive();
        assertThat(scrape.types())
                .containsEntry("jvm_threads_live_threads", "gauge")
                .containsKey("process_cpu_usage");
    }

    @Test
    void escapeNamesThatPeersChose() throws Exception {
        Scrape scrape = scrape();
        assertThat(scrape.names()).doesNotContain("waybill_x");
        assertThat(scrape.sum("waybill_requests_total", Map.of("operation", HOSTILE)))
                .isEqualTo(2);
    }

    @Test
    void areReadByPromtool() throws Exception {
        Promtool.checkMetrics(figures.page("").body(), directory);
    }

    @Test
    void comeAsOpenMetricsOnRequest() throws Exception {
        String accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assertThat(figures.page(accept).type()).startsWith("application/openmetrics-text");
        assertThat(new String(figures.page(accept).body(), StandardCharsets.UTF_8))
                .endsWith("# EOF\n");
        assertThat(figures.page("text/plain").type()).startsWith("text/plain; version=0.0.4");
    }

    @Test
    void failTheScrapeWhenTheHomeCannotBeRead() {
        try (NodeFigures unreadable = new NodeFigures(
                () -> {
                    throw new IOException("planted");
                },
                "ps0")) {
            assertThatThrownBy(() -> unreadable.page("")).hasMessageContaining("planted");
        }
    }

    @Test
    void countFromScratchWithTheNextIncarnation() throws Exception {
        assertThat(scrape().sum("waybill_requests_total", Map.of("worker", "trainer")))
                .isEqualTo(6);
        workers = workers.subList(0, 1);
        assertThat(scrape().of("waybill_worker_info")).hasSize(1);
        assertThat(scrape().sum("waybill_requests_total", Map.of("worker", "trainer")))
                .isZero();
    }

    @Test
    void areTheSameOverOtlp() throws Exception {
        long nowNs = 1_700_000_002_000_000_000L;
        byte[] bytes = MetricsRequest.encode(new OtlpResource("ps0", 1, "0.1.0"), figures.read(), nowNs);
        Map<String, Metric> metrics =
                ExportMetricsServiceRequest.parseFrom(bytes)
                        .getResourceMetrics(0)
                        .getScopeMetrics(0)
                        .getMetricsList()
                        .stream()
                        .collect(Collectors.toMap(Metric::getName, each -> each));
        Metric requests = metrics.get("waybill_requests");
        assertThat(requests.getSum().getIsMonotonic()).isTrue();
        assertThat(requests.getSum().getAggregationTemporality())
                .isEqualTo(AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE);
        assertThat(requests.getSum().getDataPointsList())
                .filteredOn(point -> attributes(point.getAttributesList()).equals(COUNT))
                .singleElement()
                .satisfies(point -> {
                    assertThat(point.getAsDouble()).isEqualTo(5);
                    assertThat(point.getTimeUnixNano()).isEqualTo(nowNs);
                    assertThat(point.getStartTimeUnixNano()).isEqualTo(1_700_000_000_000_000_000L);
                });
        HistogramDataPoint latency =
                metrics.get("waybill_request_duration_seconds").getHistogram().getDataPointsList().stream()
                        .filter(point -> attributes(point.getAttributesList()).equals(COUNT))
                        .findFirst()
                        .orElseThrow();
        assertThat(metrics.get("waybill_request_duration_seconds").getUnit()).isEqualTo("s");
        assertThat(latency.getCount()).isEqualTo(5);
        assertThat(latency.getBucketCountsCount()).isEqualTo(latency.getExplicitBoundsCount() + 1);
        assertThat(latency.getBucketCounts(0)).isEqualTo(2);
        assertThat(latency.getExplicitBounds(0)).isEqualTo(1.024e-6);
        assertThat(latency.getBucketCountsList().stream()
                        .mapToLong(Long::longValue)
                        .sum())
                .isEqualTo(5);
        assertThat(metrics.get("waybill_requests_in_flight").hasGauge()).isTrue();
        assertThat(metrics).containsKeys("waybill_worker", "jvm_memory_used_bytes");
    }

    private static Map<String, String> attributes(List<KeyValue> all) {
        return all.stream()
                .collect(Collectors.toMap(
                        KeyValue::getKey, each -> each.getValue().getStringValue()));
    }
}
