package io.waybill.conformance.harness;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import io.waybill.conformance.cases.CaseFile;
import io.waybill.conformance.cases.ConformanceCase;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * All cases, run by workers of the distribution: a test for each. Each step has a limit of its own.
 *
 * <p>Most of the time is spent waiting for workers that start, and for timeouts. So several files run at a time, ahead of the tests,
 * which wait for their cases.
 */
class ConformanceIT {

    private static final Path DISTRIBUTION =
            Path.of(System.getProperty("waybill.test.distribution")).normalize();
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
    /** A part of the file and name of the cases to run; empty for all. */
    private static final String CHOSEN = System.getProperty("waybill.conformance", "");

    private static final int FILES_AT_A_TIME = 3;

    @TempDir
    private Path directory;

    private final List<FileRun> runs = new ArrayList<>();
    private final ExecutorService files = Executors.newFixedThreadPool(FILES_AT_A_TIME);

    @AfterEach
    void closeRuns() throws InterruptedException {
        files.shutdownNow();
        assertThat(files.awaitTermination(120, TimeUnit.SECONDS))
                .as("the runs of all files have ended")
                .isTrue();
        runs.forEach(FileRun::close);
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(ROOT.resolve("conformance/cases"))) {
            return files.sorted().toList();
        }
    }

    @Tag("ci")
    @TestFactory
    Stream<DynamicNode> holds() throws IOException {
        List<DynamicNode> containers = new ArrayList<>();
        for (Path file : files()) {
            containers.add(dynamicContainer(file.getFileName().toString(), tests(file)));
        }
        return containers.stream();
    }

    private Stream<DynamicTest> tests(Path path) throws IOException {
        String name = path.getFileName().toString();
        CaseFile file = CaseFile.read(path);
        List<ConformanceCase> chosen = file.cases().stream()
                .filter(each -> (name + ": " + each.name()).contains(CHOSEN))
                .toList();
        if (chosen.isEmpty()) {
            return Stream.empty();
        }
        FileRun run = run(name, file);
        Map<ConformanceCase, CompletableFuture<Optional<String>>> wrong = new HashMap<>();
        chosen.forEach(each -> wrong.put(each, new CompletableFuture<>()));
        CompletableFuture<Void> ended = CompletableFuture.runAsync(
                () -> {
                    chosen.stream()
                            .filter(each -> each.skip() == null)
                            .forEach(each -> complete(wrong.get(each), run, each));
                    end(run);
                },
                files);
        Stream<DynamicTest> cases = chosen.stream()
                .map(each -> dynamicTest(each.name(), () -> {
                    assertThat(each.skip()).as("the reason why it is skipped").isNull();
                    assertThat(wrong.get(each).get()).isEmpty();
                }));
        DynamicTest end = dynamicTest("leaves nothing behind", () -> {
            ended.get();
            assertThat(new WorkerLauncher(DISTRIBUTION, directory.resolve(name)).temporary())
                    .isEmptyDirectory();
        });
        return Stream.concat(cases, Stream.of(end));
    }

    private static void complete(CompletableFuture<Optional<String>> wrong, FileRun run, ConformanceCase tested) {
        try {
            wrong.complete(run.run(tested));
        } catch (Throwable e) {
            wrong.completeExceptionally(e);
        }
    }

    private static void end(FileRun run) {
        try {
            run.end();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private FileRun run(String name, CaseFile file) throws IOException {
        FileRun run = new FileRun(name, file, new WorkerLauncher(DISTRIBUTION, directory));
        runs.add(run);
        return run;
    }

    @Test
    void hasAllFilesThatThePageNames() throws IOException {
        Matcher named =
                Pattern.compile("`([a-z-]+\\.json)`: ").matcher(Files.readString(ROOT.resolve("conformance/tests.md")));
        Set<String> names = new TreeSet<>();
        while (named.find()) {
            names.add(named.group(1));
        }
        assertThat(files()).extracting(file -> file.getFileName().toString()).containsAll(names);
    }

    @Test
    @Timeout(value = 300, unit = TimeUnit.SECONDS)
    void reportsWhatDoesNotHold() throws IOException {
        Path path = directory.resolve("wrong.json");
        Files.writeString(path, """
                {"format": 1, "workers": {"a": "plain", "b": "plain"}, "cases": [
                  {"name": "sum", "steps": [
                    {"on": "a", "do": "call", "to": "b", "op": "conformance.echo", "args": [{"data": [1, 2]}],
                     "expect": {"value": {"data": [1, 3]}, "strides": [2]}}]},
                  {"name": "crash", "steps": [
                    {"on": "b", "do": "kill"},
                    {"on": "a", "do": "call", "to": "b", "op": "conformance.echo", "args": [1]}]},
                  {"name": "restarted", "steps": [
                    {"on": "a", "do": "call", "to": "b", "op": "conformance.echo", "args": [1], "expect": {"value": 1}}]}]}
                """);
        CaseFile file = CaseFile.read(path);
        FileRun run = run("run", file);

        List<Optional<String>> wrong = new ArrayList<>();
        for (ConformanceCase each : file.cases()) {
            wrong.add(run.run(each));
        }

        assertThat(wrong.get(0).orElseThrow())
                .contains("step 1 (call on a)", "expected 3.0 for element 1", "expected strides [2]");
        assertThat(wrong.get(1).orElseThrow()).contains("step 2 (call on a)", "WORKER_LOST");
        assertThat(wrong.get(2)).isEmpty();
    }

    @Test
    @Timeout(value = 300, unit = TimeUnit.SECONDS)
    void reportsAWorkerThatCanNotStart() throws IOException {
        Path path = directory.resolve("twice.json");
        Files.writeString(path, """
                {"format": 1, "workers": {"a": "plain", "b": {"kind": "plain", "id": 0}}, "cases": [
                  {"name": "x", "steps": []}]}
                """);
        CaseFile file = CaseFile.read(path);

        assertThat(run("run", file).run(file.cases().get(0)).orElseThrow()).matches("(?s)worker [ab] ended: .*id 0.*");
    }
}
