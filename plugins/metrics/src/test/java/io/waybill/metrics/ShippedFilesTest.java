package io.waybill.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.metrics.otlp.CallSpans;
import io.waybill.metrics.otlp.OtlpExporter;
import io.waybill.metrics.otlp.OtlpResource;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The alert rules, the dashboard and the reference name metrics that exist. */
@Timeout(180)
class ShippedFilesTest {

    private static final Path SHARE = Path.of("src/main/share");
    private static final Path REFERENCE = Path.of("../../docs/reference/metrics.md");
    private static final Pattern METRIC = Pattern.compile("\\b(waybill|jvm|process|system)_[a-z_]+[a-z]\\b");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\|");

    @TempDir
    private Path directory;

    /** A scrape of a home where each metric has a value. */
    private static Scrape everything() throws IOException {
        OperationMetrics operation = new OperationMetrics(
                MessageType.NAMED_CALL,
                "text.count",
                "trainer",
                1,
                Map.of(ErrorCode.REFUSED, 1L),
                1,
                1,
                1,
                1,
                HomeFiguresTest.latencies(5));
        Map<String, Long> values = new HashMap<>(
                Arrays.stream(NamedValue.values()).collect(Collectors.toMap(NamedValue::key, each -> 1L)));
        values.put("org.acme/words", 1L);
        values.put("org.acme:depth", 1L);
        values.put("of.another.version", 1L);
        WorkerMetrics worker =
                new WorkerMetrics(new WorkerInfo(3, "ps0"), 1, 1, 1, 1, List.of(operation), List.of(operation), values);
        CallSpans spans = new CallSpans();
        try (NodeFigures figures = new NodeFigures(() -> List.of(worker), "ps0");
                OtlpExporter exporter = new OtlpExporter(
                        new OtlpExporter.Target(URI.create("http://127.0.0.1:1"), Map.of(), Duration.ofHours(1)),
                        new OtlpResource("ps0", 1, "1"),
                        String::valueOf,
                        spans,
                        null)) {
            figures.countSpans(exporter, spans);
            return Scrape.parse(new String(figures.page("").body(), StandardCharsets.UTF_8));
        }
    }

    private static Set<String> metricsIn(String text) {
        return METRIC.matcher(text)
                .results()
                .map(found -> found.group())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void rulesNameMetricsThatExist() throws Exception {
        String expressions = Files.readAllLines(SHARE.resolve("waybill-alerts.yml")).stream()
                .filter(line -> !line.contains("summary:"))
                .collect(Collectors.joining("\n"));
        assertThat(metricsIn(expressions)).hasSizeGreaterThan(8);
        assertThat(everything().names()).containsAll(metricsIn(expressions));
    }

    @Test
    void dashboardNamesMetricsThatExist() throws Exception {
        JsonNode dashboard = new ObjectMapper()
                .readTree(SHARE.resolve("waybill-dashboard.json").toFile());
        List<String> expressions = new ArrayList<>(dashboard.findValuesAsText("expr"));
        expressions.addAll(dashboard.get("templating").findValuesAsText("query"));
        assertThat(expressions).hasSizeGreaterThan(20);
        assertThat(everything().names()).containsAll(metricsIn(String.join("\n", expressions)));
    }

    /** Each query is one that Prometheus can read, as a rule, once Grafana has put in its variables. */
    @Test
    void dashboardQueriesAreReadByPromtool() throws Exception {
        List<String> queries = new ObjectMapper()
                .readTree(SHARE.resolve("waybill-dashboard.json").toFile())
                .findValuesAsText("expr");
        StringBuilder rules = new StringBuilder("groups:\n- name: dashboard\n  rules:\n");
        for (int i = 0; i < queries.size(); i++) {
            String query = queries.get(i)
                    .replace("$__rate_interval", "1m")
                    .replace("$worker", ".*")
                    .replace("$operation", ".*");
            assertThat(query).as("its variables").doesNotContain("$");
            rules.append("  - record: query")
                    .append(i)
                    .append("\n    expr: '")
                    .append(query)
                    .append("'\n");
        }
        Files.writeString(directory.resolve("dashboard.yml"), rules);
        Promtool.run(directory, "check", "rules", "dashboard.yml");
    }

    @Test
    void rulesFireWhenTheyShould() throws Exception {
        Files.copy(SHARE.resolve("waybill-alerts.yml"), directory.resolve("waybill-alerts.yml"));
        Path tests = directory.resolve("waybill-alerts-test.yml");
        Files.copy(Path.of("src/test/resources/waybill-alerts-test.yml"), tests);
        String rules = Files.readString(SHARE.resolve("waybill-alerts.yml"));
        assertThat(Pattern.compile("alert: (\\w+)").matcher(rules).results().map(found -> found.group(1)))
                .as("each rule has a test")
                .allMatch(Files.readString(tests)::contains);
        Promtool.run(directory, "check", "rules", "waybill-alerts.yml");
        Promtool.run(directory, "test", "rules", "waybill-alerts-test.yml");
    }

    @Test
    void referenceListsEachMetricWithItsType() throws Exception {
        Map<String, String> listed = ROW.matcher(Files.readString(REFERENCE))
                .results()
                .collect(Collectors.toMap(found -> found.group(1), found -> found.group(2)));
        Map<String, String> exported = new HashMap<>(everything().types());
        exported.keySet().removeIf(name -> !name.startsWith("waybill_"));
        assertThat(listed).isEqualTo(exported);
    }
}
