package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The cases that come with the distribution, run by it. */
@Timeout(value = 660, unit = TimeUnit.SECONDS)
class ConformanceIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Path PAGE = Path.of("").toAbsolutePath().getParent().resolve("docs/conformance.md");
    private static final int LIMIT_S = 600;

    @TempDir
    Path directory;

    private Result conformance(Path... files) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>();
        words.add(DISTRIBUTION.resolve("bin/waybill").toString());
        words.add("conformance");
        Stream.of(files).map(Path::toString).forEach(words::add);
        Path user = Files.createDirectories(directory.resolve("user"));
        Map<String, String> environment = Map.of(
                "PATH", "/usr/bin:/bin",
                "HOME", user.toString(),
                "TMPDIR", Files.createDirectories(directory.resolve("tmp")).toString(),
                "WAYBILL_JAVA_OPTS", "-Duser.home=" + user,
                "WAYBILL_JAVA",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString());
        try (Command command = Command.start(directory, environment, words)) {
            return command.await(LIMIT_S);
        }
    }

    static List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(DISTRIBUTION.resolve("conformance"))) {
            return files.sorted().toList();
        }
    }

    /** Of a file: those that stand for tests of PyTorch on {@code docs/conformance.md}. */
    private static Set<String> casesThatThePageNames(String file) throws IOException {
        Matcher named =
                Pattern.compile("`" + Pattern.quote(file) + "`: ([^;|\n]+)").matcher(Files.readString(PAGE));
        Set<String> cases = new TreeSet<>();
        while (named.find()) {
            cases.add(named.group(1).strip());
        }
        return cases;
    }

    @Test
    void comesWithAllFilesThatThePageNames() throws IOException {
        Matcher named = Pattern.compile("`([a-z-]+\\.json)`: ").matcher(Files.readString(PAGE));
        Set<String> files = new TreeSet<>();
        while (named.find()) {
            files.add(named.group(1));
        }
        assertThat(files()).extracting(file -> file.getFileName().toString()).containsAll(files);
    }

    @ParameterizedTest
    @MethodSource("files")
    void holds(Path file) throws IOException, InterruptedException {
        Result result = conformance(file);

        assertThat(result.exitCode()).as(result.out() + result.err()).isZero();
        assertThat(result.out()).containsPattern("(?m)^[1-9][0-9]* passed, 0 failed, 0 skipped$");
        String name = file.getFileName().toString();
        assertThat(casesThatThePageNames(name))
                .allSatisfy(one -> assertThat(result.out())
                        .containsPattern(
                                "(?m)^passed +[0-9]+ +" + Pattern.quote(name) + " +" + Pattern.quote(one) + " *$"));
        assertThat(directory.resolve("tmp")).isEmptyDirectory();
    }

    @Test
    void tellsWhatDoesNotHold() throws IOException, InterruptedException {
        Path file = directory.resolve("wrong.json");
        Files.writeString(file, """
                {"format": 1, "workers": {"a": "plain", "b": "plain"}, "cases": [
                  {"name": "sum", "steps": [
                    {"on": "a", "do": "call", "to": "b", "op": "conformance.echo", "args": [{"data": [1, 2]}],
                     "expect": {"value": {"data": [1, 3]}, "strides": [2]}}]},
                  {"name": "crash", "steps": [
                    {"on": "b", "do": "kill"},
                    {"on": "a", "do": "call", "to": "b", "op": "conformance.echo", "args": [1]}]},
                  {"name": "again", "steps": [
                    {"on": "a", "do": "call", "to": "b", "op": "conformance.echo", "args": [1], "expect": {"value": 1}}]},
                  {"name": "later", "skip": "not yet", "steps": []}]}
                """);

        Result result = conformance(file);

        assertThat(result.exitCode()).as(result.err()).isEqualTo(1);
        assertThat(result.out().lines())
                .anySatisfy(line -> assertThat(line)
                        .startsWith("failed")
                        .contains("sum", "step 1 (call on a)", "expected 3.0 for element 1", "expected strides [2]"))
                .anySatisfy(line -> assertThat(line).startsWith("failed").contains("crash", "WORKER_LOST"))
                .anySatisfy(line -> assertThat(line).startsWith("passed").contains("again"))
                .anySatisfy(line -> assertThat(line).startsWith("skipped").contains("later", "not yet"))
                .contains("1 passed, 2 failed, 1 skipped");
    }

    @Test
    void namesThePlaceOfWhatItCannotRead() throws IOException, InterruptedException {
        Path file = directory.resolve("unreadable.json");
        Files.writeString(file, """
                {"format": 1, "workers": {"a": "plain"}, "cases": [
                  {"name": "x", "steps": [{"on": "a", "do": "cal"}]}]}
                """);

        Result result = conformance(file);

        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err())
                .startsWith("waybill conformance: " + file + ": case 1: case 'x': step 1: nothing is called 'cal'")
                .hasLineCount(1);
    }
}
