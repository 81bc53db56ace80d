package io.waybill.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.conformance.cases.CaseFile;
import io.waybill.conformance.cases.ConformanceCase;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/**
 * {@code conformance/tests.md} has a row for each of PyTorch's tests, all of which are in {@code pytorch-tests.txt}; what passes names
 * cases or tests in Java that are there and run; and {@code docs/conformance.md} counts right. That the cases pass is ConformanceIT's to test.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConformancePageTest {

    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
    private static final Pattern HEADING = Pattern.compile("## (\\w+) .*\\((\\d+)\\)");
    private static final List<String> STATES = List.of("passes", "differs", "missing", "not applicable", "later");
    private static final Pattern ROW =
            Pattern.compile("\\| `(\\w+\\.[\\w.]+)` \\| (" + String.join("|", STATES) + ") \\| (\\S.*\\S) \\|");
    private static final int ALL = 543;
    private static final Set<String> FEATURES = Set.of("profiling", "libtorch for CUDA");
    private static final Pattern CASE = Pattern.compile("`([\\w-]+\\.json)`: ([^;|]+)");
    private static final Pattern JAVA = Pattern.compile("`(\\w+)#(\\w+)`");

    /** A line of the page. */
    private record Row(String group, String test, String state, String text) {}

    private final List<Row> rows = new ArrayList<>();
    private final Map<String, Integer> announced = new LinkedHashMap<>();
    /** By file and name. */
    private final Map<String, ConformanceCase> cases = new HashMap<>();

    private Map<String, Path> testClasses;
    private String page;

    @BeforeAll
    void read() throws Exception {
        testClasses = testClasses();
        page = Files.readString(ROOT.resolve("docs/conformance.md"));
        String group = "";
        for (String line : Files.readAllLines(ROOT.resolve("conformance/tests.md"))) {
            Matcher heading = HEADING.matcher(line);
            if (heading.matches()) {
                group = heading.group(1);
                announced.put(group, Integer.parseInt(heading.group(2)));
            } else if (line.startsWith("## ")) {
                group = "";
            }
            Matcher row = ROW.matcher(line);
            if (row.matches()) {
                rows.add(new Row(group, row.group(1), row.group(2), row.group(3)));
            } else {
                assertThat(line).as("a row in another form").doesNotStartWith("| `");
            }
        }
        for (Path file : files()) {
            for (ConformanceCase one : CaseFile.read(file).cases()) {
                cases.put(file.getFileName() + ": " + one.name(), one);
            }
        }
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(ROOT.resolve("conformance/cases"))) {
            return files.sorted().toList();
        }
    }

    private long count(String group, String state) {
        return rows.stream()
                .filter(row -> row.group.equals(group) && row.state.equals(state))
                .count();
    }

    @Test
    void namesEachOfPyTorchsTestsOnce() throws IOException {
        assertThat(rows.stream().map(row -> row.group + " " + row.test).toList())
                .doesNotHaveDuplicates()
                .hasSize(ALL)
                .isEqualTo(knownTests());
        announced.forEach((group, count) -> assertThat(
                        rows.stream().filter(row -> row.group.equals(group)).count())
                .as("tests of " + group)
                .isEqualTo(count.longValue()));
    }

    /** Of PyTorch, in order: the group and the name. */
    private static List<String> knownTests() throws IOException {
        try (InputStream in = ConformancePageTest.class.getResourceAsStream("/pytorch-tests.txt")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .toList();
        }
    }

    @Test
    void countsWhatItLists() {
        List<Long> all = new ArrayList<>(List.of(0L, 0L, 0L, 0L, 0L));
        for (String group : announced.keySet()) {
            List<String> cells = new ArrayList<>(List.of(group));
            for (int i = 0; i < STATES.size(); i++) {
                long count = count(group, STATES.get(i));
                all.set(i, all.get(i) + count);
                cells.add(count == 0 ? "" : Long.toString(count));
            }
            cells.add(announced.get(group).toString());
            assertThat(page).contains("| " + String.join(" | ", cells) + " |");
        }
        assertThat(all.stream().mapToLong(Long::longValue).sum()).isEqualTo(ALL);
        assertThat(page).contains("\n" + line("all", all.stream().map(String::valueOf), Integer.toString(ALL)));
        assertThat(page)
                .contains(line(
                        "of " + ALL,
                        all.stream().map(count -> String.format(Locale.ROOT, "%.1f %%", 100.0 * count / ALL)),
                        "100 %"));
    }

    /** Tests of distributed autograd, whatever is refused on purpose included. */
    @Test
    void saysHowMuchOfDistributedAutogradPasses() {
        List<Row> autograd = rows.stream()
                .filter(row -> row.group.matches("A[1-4]") || row.test.startsWith("JA."))
                .toList();
        long passing =
                autograd.stream().filter(row -> row.state.equals("passes")).count();
        assertThat(100.0 * passing / autograd.size()).isGreaterThanOrEqualTo(95);
        assertThat(page)
                .contains(String.format(
                        Locale.ROOT,
                        "Of the %d tests of distributed autograd (A1 to A4, and `JA`) %d pass: %.1f %%.",
                        autograd.size(),
                        passing,
                        100.0 * passing / autograd.size()));
    }

    @Test
    void saysHowMuchOfProfilingPasses() {
        long all = rows.stream().filter(row -> row.group.equals("T11")).count();
        assertThat(page)
                .contains(String.format(
                        Locale.ROOT,
                        "Of the %d tests of profiling (T11) %d pass: %.1f %%.",
                        all,
                        count("T11", "passes"),
                        100.0 * count("T11", "passes") / all));
    }

    private static String line(String first, Stream<String> cells, String last) {
        return "| " + first + " | " + String.join(" | ", cells.toList()) + " | " + last + " |\n";
    }

    @Test
    void namesTheFeatureThatATestWaitsFor() {
        assertThat(rows)
                .filteredOn(row -> row.state.equals("later"))
                .allSatisfy(row -> assertThat(row.text.split(", ")).as(row.test).isSubsetOf(FEATURES));
    }

    @Test
    void namesCasesThatStandForTheTest() {
        for (Row row : rows) {
            Matcher named = CASE.matcher(row.text);
            while (named.find()) {
                ConformanceCase one =
                        cases.get(named.group(1) + ": " + named.group(2).strip());
                assertThat(one).as(named.group() + " of " + row.test).isNotNull();
                assertThat(one.tests()).as(one.name()).contains(row.test);
                assertThat(one.skip()).as(one.name()).isNull();
            }
        }
    }

    @Test
    void saysWhereWhatPassesIsChecked() throws IOException {
        for (Row row : rows) {
            Matcher java = JAVA.matcher(row.text);
            boolean isChecked = CASE.matcher(row.text).find();
            while (java.find()) {
                isChecked = true;
                assertThat(testClass(java.group(1)))
                        .as(java.group() + " of " + row.test)
                        .containsPattern("@(Test|ParameterizedTest|RepeatedTest)\\b[^;{}]*(\\{[^;}]*\\}[^;{}]*)?void "
                                + java.group(2) + "\\(")
                        .doesNotContain("@Disabled")
                        .doesNotContain("@Tag(\"slow\")");
            }
            assertThat(isChecked || !row.state.equals("passes")).as(row.test).isTrue();
        }
    }

    private String testClass(String name) throws IOException {
        Path found = testClasses.get(name + ".java");
        assertThat(found).as("the test class " + name).isNotNull();
        return Files.readString(found);
    }

    /** The files of all test classes, by their names. */
    private static Map<String, Path> testClasses() throws IOException {
        Map<String, Path> found = new HashMap<>();
        Files.walkFileTree(ROOT, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                boolean isBuilt = Set.of("target", ".git")
                        .contains(directory.getFileName().toString());
                return isBuilt ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (file.toString().contains("/src/test/java/")) {
                    found.putIfAbsent(file.getFileName().toString(), file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return found;
    }

    @Test
    void listsEveryTestThatACaseStandsFor() {
        cases.forEach((name, one) -> one.tests()
                .forEach(test -> assertThat(rows)
                        .as(test + " of " + name)
                        .anyMatch(row -> row.test.equals(test) && row.text.contains("`" + name.replace(": ", "`: ")))));
    }
}
