package io.waybill.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.opentelemetry.proto.metrics.v1.Metric;
import io.opentelemetry.proto.metrics.v1.NumberDataPoint;
import io.waybill.api.CallException;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.metrics.otlp.OtlpReceiver;
import io.waybill.testing.TestBroker;
import io.waybill.testing.TrafficOutcome;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The bundle in a framework, between workers that call each other. */
@Timeout(300)
class MetricsInABrokerTest {

    private static final Map<String, String> SERVED =
            Map.of("worker", "server", "side", "served", "operation", "text.count");
    private static final Map<String, String> CALLED =
            Map.of("worker", "caller", "side", "called", "operation", "text.count");

    @TempDir
    private Path directory;

    private TestBroker broker;
    private Path settings;
    private int port;

    @BeforeEach
    void start() throws IOException {
        broker = TestBroker.start(
                directory, Path.of("target/classes"), List.of(Path.of("../http/target/classes")), Map.of());
        settings = directory.resolve("node/conf/io.waybill.metrics.cfg");
        broker.handle(TestBroker.SERVER, "text.count", (message, outbox) -> outbox.respond(Value.of(1)));
        broker.handle(TestBroker.SERVER, "text.fail", (message, outbox) -> {
            throw new IllegalStateException("planted");
        });
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
    }

    @AfterEach
    void stop() throws IOException {
        broker.close();
    }

    private void configure(String... lines) throws IOException {
        Path whole = Files.writeString(directory.resolve("new.cfg"), String.join("\n", lines));
        Files.move(whole, settings, StandardCopyOption.REPLACE_EXISTING);
    }

    private void call(int times) {
        for (int i = 0; i < times; i++) {
            broker.call(broker.request("text.count")).close();
        }
    }

    private Scrape scrape() throws IOException {
        HttpURLConnection connection = (HttpURLConnection)
                URI.create("http://127.0.0.1:" + port + "/metrics").toURL().openConnection();
        assertThat(connection.getResponseCode()).isEqualTo(200);
        return Scrape.parse(new String(connection.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
    }

    private boolean isServed() {
        try {
            return !scrape().names().isEmpty();
        } catch (IOException e) {
            return false;
        }
    }

    private double sum(String metric, Map<String, String> labels) {
        try {
            return scrape().sum(metric, labels);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void awaitSum(String metric, Map<String, String> labels, double expected) {
        Waits.until(metric + labels + " is " + expected, () -> sum(metric, labels) >= expected);
        assertThat(sum(metric, labels)).isEqualTo(expected);
    }

    private static boolean hasThread(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().startsWith(name) && thread.isAlive());
    }

    private static int beans() {
        try {
            return ManagementFactory.getPlatformMBeanServer()
                    .queryNames(new ObjectName("io.waybill:type=Worker,*"), null)
                    .size();
        } catch (JMException e) {
            throw new IllegalStateException(e);
        }
    }

    private static double value(OtlpReceiver receiver, String metric, String operation, String side) {
        double sum = 0;
        for (Metric each : receiver.metrics()) {
            for (NumberDataPoint point : each.getSum().getDataPointsList()) {
                String labels = point.getAttributesList().toString();
                boolean isMeant = each.getName().equals(metric) && labels.contains(operation) && labels.contains(side);
                sum += isMeant ? point.getAsDouble() : 0;
            }
        }
        return sum;
    }

    @Test
    void countsAKnownWorkloadOnBothSides() throws Exception {
        configure("listen = 127.0.0.1:" + port);
        call(40);
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> broker.call(broker.request("text.fail"))).isInstanceOf(CallException.class);
        }
        Waits.until("it is served", this::isServed);
        awaitSum("waybill_requests_total", SERVED, 40);
        awaitSum("waybill_requests_total", CALLED, 40);
        awaitSum("waybill_request_duration_seconds_count", SERVED, 40);
        Map<String, String> failed = Map.of("worker", "server", "operation", "text.fail", "code", "HANDLER_FAILED");
        awaitSum("waybill_errors_total", failed, 3);
        assertThat(sum("waybill_errors_total", SERVED)).isZero();
        assertThat(sum("waybill_requests_in_flight", Map.of())).isZero();
        assertThat(scrape().of("waybill_worker_info")).hasSize(2);
        assertThat(scrape().of("waybill_worker_value"))
                .as("values without a metric of their own")
                .isEmpty();
        call(5);
        awaitSum("waybill_requests_total", SERVED, 45);
        Promtool.checkMetrics(
                URI.create("http://127.0.0.1:" + port + "/metrics")
                        .toURL()
                        .openStream()
                        .readAllBytes(),
                directory);
    }

    @Test
    void exportsTheSameNumbersOverOtlp() throws Exception {
        try (OtlpReceiver receiver = new OtlpReceiver()) {
            configure("otlp.endpoint = " + receiver.endpoint(), "otlp.interval = 1");
            call(20);
            Waits.until(
                    "the receiver has the counts",
                    () -> value(receiver, "waybill_requests", "text.count", "served") == 20
                            && value(receiver, "waybill_requests", "text.count", "called") == 20);
            TraceContext trace = new TraceContext(1, 2, 3, TraceContext.SAMPLED, "");
            CallContext.EMPTY.with(trace).run(() -> call(7));
            Waits.until("the spans are there", () -> receiver.spans().size() == 7);
            assertThat(receiver.wrong()).isEmpty();
        }
    }

    @Test
    void isOffWithoutSettingsAndAfterThem() throws Exception {
        assertThat(hasThread("waybill-http-")).isFalse();
        assertThat(hasThread("waybill-otlp")).isFalse();
        try (OtlpReceiver receiver = new OtlpReceiver()) {
            configure("listen = 127.0.0.1:" + port, "otlp.endpoint = " + receiver.endpoint(), "jmx = true");
            Waits.until("it is served", this::isServed);
            Waits.until("the workers are in JMX", () -> beans() == 2);
            assertThat(hasThread("waybill-otlp")).isTrue();
            Files.delete(settings);
            Waits.until("the port is closed", () -> !isServed());
            Waits.until("no thread is left", () -> !hasThread("waybill-http-") && !hasThread("waybill-otlp"));
            Waits.until("no bean is left", () -> beans() == 0);
        }
    }

    @Test
    void changesNothingButWhatItsSettingsSay() throws Exception {
        Map<String, String> all = Map.of();
        try (OtlpReceiver receiver = new OtlpReceiver()) {
            String otlp = "otlp.endpoint = " + receiver.endpoint();
            configure("listen = 127.0.0.1:" + port, otlp);
            Waits.until("it is served", this::isServed);
            TraceContext trace = new TraceContext(1, 2, 3, TraceContext.SAMPLED, "");
            CallContext.EMPTY.with(trace).run(() -> call(7));
            awaitSum("waybill_otlp_spans_exported_total", all, 7);

            configure("listen = 127.0.0.1:" + port, otlp, "jmx = true");
            Waits.until("the workers are in JMX", () -> beans() == 2);
            assertThat(sum("waybill_otlp_spans_exported_total", all))
                    .as("what the same export has counted")
                    .isEqualTo(7);

            configure(otlp, "jmx = true");
            Waits.until("the port is closed", () -> !isServed());
            configure("listen = 127.0.0.1:" + port, otlp, "jmx = true");
            Waits.until("it is served again", this::isServed);
            assertThat(sum("waybill_otlp_spans_exported_total", all)).isEqualTo(7);

            configure("listen = 127.0.0.1:" + port, otlp, "jmx = true", "otlp.interval = 1");
            Waits.until("another export counts", () -> sum("waybill_otlp_spans_exported_total", all) == 0);
            CallContext.EMPTY.with(trace).run(() -> call(3));
            awaitSum("waybill_otlp_spans_exported_total", all, 3);
            assertThat(beans()).isEqualTo(2);
        }
    }

    @Test
    void isOffWithWrongSettingsUntilTheyAreRight() throws Exception {
        configure("listen = 127.0.0.1:" + port);
        Waits.until("it is served", this::isServed);
        Files.delete(settings);
        configure("listen = 0.0.0.0:" + port);
        Waits.until("it is off", () -> !isServed() && !hasThread("waybill-http-"));
        call(1);
        Files.delete(settings);
        configure("listen = 127.0.0.1:" + port);
        Waits.until("it is served again", this::isServed);
    }

    @Test
    void isReplacedUnderTrafficAndGoesOnCounting() throws Exception {
        try (OtlpReceiver receiver = new OtlpReceiver()) {
            configure("listen = 127.0.0.1:" + port, "otlp.endpoint = " + receiver.endpoint(), "jmx = true");
            Waits.until("it is served", this::isServed);
            TraceContext trace = new TraceContext(1, 2, 3, TraceContext.SAMPLED, "");
            CallContext.EMPTY.with(trace).run(() -> call(100));
            long calls = 100;
            for (int i = 0; i < 3; i++) {
                TrafficOutcome outcome = broker.upgradeUnderTraffic(
                        () -> broker.request("text.count"),
                        response -> response.value().equals(Value.of(1)));
                calls += outcome.calls();
                Waits.until("it is served again", this::isServed);
                awaitSum("waybill_requests_total", SERVED, calls);
                assertThat(sum("jvm_threads_live_threads", Map.of())).isPositive();
            }
            broker.assertNoLoaderLeaked();
            Waits.until("the last one has its beans", () -> beans() == 2);
        }
    }

    @Test
    void leavesNothingWhenItsBrokerStops() throws Exception {
        try (OtlpReceiver receiver = new OtlpReceiver()) {
            configure("listen = 127.0.0.1:" + port, "otlp.endpoint = " + receiver.endpoint(), "jmx = true");
            Waits.until("it is served", this::isServed);
            broker.close();
            assertThat(isServed()).isFalse();
            assertThat(hasThread("waybill-http-")).isFalse();
            assertThat(hasThread("waybill-otlp")).isFalse();
            assertThat(beans()).isZero();
        }
    }
}
