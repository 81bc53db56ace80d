package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The metrics of nodes of the assembled distribution. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class MetricsIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Pattern SERVED_AT =
            Pattern.compile(" INFO  \\[[^\n]*\\] PageServer: \\[[^\n]*] are served at 127\\.0\\.0\\.1:(\\d+)\\n");
    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

    @TempDir
    private Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private final List<Command> commands = new ArrayList<>();
    private Path conf;
    private Command node;

    @BeforeEach
    void startNodes() throws Exception {
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        conf = Files.createDirectory(directory.resolve("conf"));
        Files.copy(DISTRIBUTION.resolve("conf/io.waybill.metrics.cfg"), conf.resolve("io.waybill.metrics.cfg"));
        node = node("ps0", "--conf", conf.toString());
        node("ps1");
    }

    private Command node(String name, String... more) throws Exception {
        List<String> words =
                new ArrayList<>(List.of("node", "--name", name, "--shipped", "io.waybill.http,io.waybill.metrics"));
        words.addAll(List.of(more));
        Command started = begin(words.toArray(String[]::new));
        Command.until("ready " + name, () -> {
            assertThat(started.process.isAlive()).as(started.err()).isTrue();
            return started.out().contains("ready " + name);
        });
        output("bundle", "install", "--node", name, example());
        return started;
    }

    private static String example() throws IOException {
        try (var jars = Files.newDirectoryStream(DISTRIBUTION.resolve("examples"), "word-count-*.jar")) {
            return jars.iterator().next().toString();
        }
    }

    @AfterEach
    void stop() {
        commands.forEach(Command::close);
    }

    private Command begin(String... words) throws IOException {
        List<String> all = new ArrayList<>(List.of(words));
        all.add(0, DISTRIBUTION.resolve("bin/waybill").toString());
        Command command = Command.start(directory, environment, all);
        commands.add(command);
        return command;
    }

    private String output(String... words) throws Exception {
        return begin(words).await(120).output();
    }

    private void configure(String line) throws IOException {
        Files.writeString(conf.resolve("io.waybill.metrics.cfg"), line + "\n", StandardOpenOption.APPEND);
    }

    private String count(String worker, String... more) throws Exception {
        List<String> words = new ArrayList<>(List.of("call", "--to", worker, "text.count", "text=to be"));
        words.addAll(1, List.of(more));
        return output(words.toArray(String[]::new));
    }

    private static String get(URI page) throws IOException {
        try (InputStream in = page.toURL().openStream()) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Adds the counts of the requests that a node has served, from any caller. */
    private static double served(String scrape, String worker) {
        Pattern line = Pattern.compile("(?m)^waybill_requests_total\\{(.*)} (\\S+)$");
        return line.matcher(scrape)
                .results()
                .filter(found -> found.group(1).contains("worker=\"" + worker + '"')
                        && found.group(1).contains("side=\"served\"")
                        && found.group(1).contains("operation=\"text.count\""))
                .mapToDouble(found -> Double.parseDouble(found.group(2)))
                .sum();
    }

    @Test
    void oneLineServesTheFiguresOfTheWholeHome() throws Exception {
        assertThat(node.err()).doesNotContain("are served");
        configure("otlp.endpoint = http://127.0.0.1:9\notlp.interval = soon");
        Command.until(
                "the log says what is wrong", () -> node.err().contains("otlp.interval is from 1 to 3600 s: soon"));
        configure("otlp.endpoint =\nlisten = 0.0.0.0:0");
        Command.until("the log says what is wrong", () -> node.err().contains("found 0.0.0.0:0: the host is not"));
        assertThat(node.err())
                .as("one sentence with the file and the key")
                .contains("Metrics are off until conf/io.waybill.metrics.cfg is right: listen is a port")
                .doesNotContain("\tat ");
        configure("listen = 127.0.0.1:0");
        Command.until("it is served", () -> SERVED_AT.matcher(node.err()).find());
        Matcher at = SERVED_AT.matcher(node.err());
        assertThat(at.find()).isTrue();
        URI page = URI.create("http://127.0.0.1:" + at.group(1) + "/metrics");
        for (int i = 0; i < 3; i++) {
            count("ps0");
        }
        count("ps1");
        Command.until("ps0 has counted", () -> served(get(page), "ps0") == 3);
        Command.until("ps1 has counted", () -> served(get(page), "ps1") == 1);
        assertThat(get(page.resolve("/healthz"))).isEqualTo("ok\n");

        Path next = directory.resolve("metrics-next.jar");
        BundleMaker.writeOtherVersion(bundle("metrics"), "0.1.9", next);
        output("bundle", "update", "--node", "ps0", next.toString());
        assertThat(output("bundle", "list", "--node", "ps0")).contains("0.1.9");
        Command.until(
                "the next version serves",
                () -> SERVED_AT.matcher(node.err()).results().count() == 2);
        Matcher last = SERVED_AT.matcher(node.err());
        assertThat(last.find() && last.find()).isTrue();
        URI now = URI.create("http://127.0.0.1:" + last.group(1) + "/metrics");
        assertThat(served(get(now), "ps0")).isEqualTo(3);
        assertThatThrownBy(() -> get(page)).isInstanceOf(IOException.class);

        output("bundle", "stop", "--node", "ps0", "io.waybill.metrics");
        assertThatThrownBy(() -> get(now)).isInstanceOf(IOException.class);
        count("ps0");
    }

    private static Path bundle(String name) throws IOException {
        try (var jars = Files.newDirectoryStream(DISTRIBUTION.resolve("bundles/10"), name + "-*.jar")) {
            return jars.iterator().next();
        }
    }

    @Test
    void theServerIsUpdatedAndRemoved() throws Exception {
        configure("listen = 127.0.0.1:0");
        Command.until("it is served", () -> SERVED_AT.matcher(node.err()).find());
        Path next = directory.resolve("http-next.jar");
        BundleMaker.writeOtherVersion(bundle("http"), "0.1.9", next);
        for (int i = 1; i <= 3; i++) {
            int count = i + 1;
            output("bundle", "update", "--node", "ps0", (i % 2 == 1 ? next : bundle("http")).toString());
            Command.until(
                    "the next version serves",
                    () -> SERVED_AT.matcher(node.err()).results().count() == count);
        }
        Matcher last = SERVED_AT.matcher(node.err());
        String port =
                last.results().reduce((first, second) -> second).orElseThrow().group(1);
        assertThat(get(URI.create("http://127.0.0.1:" + port + "/healthz"))).isEqualTo("ok\n");
        Command.until("the class loaders of the versions before are unreachable", () -> {
            collectGarbage();
            return output("call", "--to", "ps0", "control:loaders.leaked", "seconds:=0")
                    .strip()
                    .equals("{'loaders': []}");
        });

        output("bundle", "uninstall", "--node", "ps0", "io.waybill.http");
        assertThat(output("bundle", "list", "--node", "ps0"))
                .as("what the metrics bundle lacks")
                .contains("waiting", "needs package io.waybill.http [0.1.0,1.0.0): no bundle exports it");
    }

    private void collectGarbage() throws Exception {
        Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
        Process process = new ProcessBuilder(jcmd.toString(), String.valueOf(node.process.pid()), "GC.run")
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
    }

    @Test
    void aTraceHasTheIdsThatTheJournalShows() throws Exception {
        List<Span> spans = new CopyOnWriteArrayList<>();
        HttpServer receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.createContext("/v1/traces", exchange -> {
            ExportTraceServiceRequest.parseFrom(exchange.getRequestBody())
                    .getResourceSpansList()
                    .forEach(from -> from.getScopeSpansList().forEach(scope -> spans.addAll(scope.getSpansList())));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        receiver.start();
        try {
            configure(
                    "otlp.endpoint = http://127.0.0.1:" + receiver.getAddress().getPort());
            Command.until("a call has a span", () -> {
                count("ps0", "--traceparent", "00-" + TRACE + "-00f067aa0ba902b7-01");
                return !spans.isEmpty();
            });
            Span span = spans.get(0);
            String id = span.getAttributesList().stream()
                    .filter(each -> each.getKey().equals("messaging.message.id"))
                    .findFirst()
                    .orElseThrow()
                    .getValue()
                    .getStringValue();
            String shown = output("journal", "show", id, "--json");
            HexFormat hex = HexFormat.of();
            assertThat(hex.formatHex(span.getTraceId().toByteArray())).isEqualTo(TRACE);
            assertThat(shown)
                    .containsPattern("\"trace_id\" ?: ?\"" + TRACE)
                    .containsPattern("\"span_id\" ?: ?\""
                            + hex.formatHex(span.getSpanId().toByteArray()))
                    .containsPattern("\"caller_span_id\" ?: ?\""
                            + hex.formatHex(span.getParentSpanId().toByteArray()));
        } finally {
            receiver.stop(0);
        }
    }

    @Test
    void alertRulesAndDashboardShip() {
        assertThat(DISTRIBUTION.resolve("share/metrics/waybill-alerts.yml")).isNotEmptyFile();
        assertThat(DISTRIBUTION.resolve("share/metrics/waybill-dashboard.json")).isNotEmptyFile();
    }
}
