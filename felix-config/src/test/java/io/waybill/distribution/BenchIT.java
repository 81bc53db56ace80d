package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Measurements of the assembled distribution, as small as they get: that they run, and give their figures. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class BenchIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Path COMMAND = DISTRIBUTION.resolve("bin/waybill");
    private static final long LIMIT_S = 240;

    @TempDir
    private Path directory;

    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void prepare() throws IOException, InterruptedException {
        Path temporary = Files.createDirectory(directory.resolve("tmp"));
        environment.putAll(Command.environment(directory));
        environment.put("PATH", COMMAND.getParent() + ":/usr/bin:/bin");
        environment.merge("WAYBILL_JAVA_OPTS", " -Djava.io.tmpdir=" + temporary, String::concat);
    }

    @ParameterizedTest
    @CsvSource({
        "lookup --messages 20000 --lookups 500 --rounds 1, lookups_per_s p50_ns p99_ns raw_p50_ns opened_p50_ns",
        "reference --calls 100 --rounds 1, p50_ns p99_ns call_p50_ns",
    })
    void givesItsFigures(String arguments, String figures) throws Exception {
        measure(arguments, figures);
    }

    @ParameterizedTest
    @Tag("ci")
    @CsvSource({
        "replay --calls 20000 --rounds 1, replayed_per_s replay_ns_per_call alone_ns_per_call ratio wrong_named",
        "pairs --processes 4 --seconds 1 --rounds 1 --waiting low-cpu, calls_per_s p50_ns p99_ns alone_calls_per_s alone_p50_ns",
    })
    void givesItsFiguresOfManyCalls(String arguments, String figures) throws Exception {
        measure(arguments, figures);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2}) // the moment that the first one is begun, and while two run
    void leavesNothingWhenItIsInterrupted(int processes) throws Exception {
        try (Command command =
                Command.start(directory, environment, List.of(COMMAND.toString(), "bench", "rtt", "--rounds", "99"))) {
            Command.until(
                    "a round has processes",
                    () -> !left().isEmpty() && children(command).size() >= processes);
            List<ProcessHandle> children = children(command);
            command.process.destroy();
            assertThat(command.await(LIMIT_S).exitCode()).isNotZero();
            Command.until("its processes are gone", () -> children.stream().noneMatch(ProcessHandle::isAlive));
        }
        assertThat(left()).as("what is left of the processes").isEmpty();
    }

    @Test
    void leavesNoProcessWhenItIsKilled() throws Exception {
        try (Command command =
                Command.start(directory, environment, List.of(COMMAND.toString(), "bench", "rtt", "--rounds", "99"))) {
            Command.until("a round has processes", () -> children(command).size() == 2);
            List<ProcessHandle> children = children(command);
            command.process.destroyForcibly();
            Command.until("its processes are gone", () -> children.stream().noneMatch(ProcessHandle::isAlive));
        }
    }

    private static List<ProcessHandle> children(Command command) {
        return command.process.descendants().toList();
    }

    private List<Path> left() throws IOException {
        try (Stream<Path> left = Files.list(directory.resolve("tmp"))) {
            return left.filter(path -> path.getFileName().toString().startsWith("waybill"))
                    .toList();
        }
    }

    private void measure(String arguments, String figures) throws Exception {
        List<String> words = new ArrayList<>(List.of(COMMAND.toString(), "bench"));
        words.addAll(List.of(arguments.split(" ")));
        words.add("--json");
        Command.Result result;
        try (Command command = Command.start(directory, environment, words)) {
            result = command.await(LIMIT_S);
        }
        assertThat(result.exitCode()).as(result.err()).isZero();
        for (String figure : figures.split(" ")) {
            Matcher value =
                    Pattern.compile("\"" + figure + "\"\\s*:\\s*([0-9.E-]+)").matcher(result.out());
            assertThat(value.find()).as("%s in %s", figure, result.out()).isTrue();
            assertThat(Double.parseDouble(value.group(1))).as(figure).isPositive();
        }
        assertThat(left()).as("what is left of the processes").isEmpty();
    }
}
