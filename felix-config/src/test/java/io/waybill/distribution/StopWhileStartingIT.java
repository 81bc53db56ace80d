package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands that are asked to end at any moment of their start: they do, say so in a line at most, and leave nothing behind. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class StopWhileStartingIT {

    private static final String WAYBILL = Path.of(System.getProperty("waybill.test.distribution"))
            .resolve("bin/waybill")
            .toString();
    private static final int MOMENTS = 10;
    /** What a node makes in its home, in this order: between them it does all that a start does. */
    private static final List<String> STEPS = List.of(
            "home.properties",
            "workers/0-ps0/lock",
            "workers/0-ps0/requests",
            "workers/0-ps0/segments",
            "workers/0-ps0/osgi/cache");

    private static final int SIGINT = 2;
    private static final int SIGTERM = 15;
    private static final int SIGNALLED = 128;

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private Path temporary;

    @BeforeEach
    void prepare() throws IOException, InterruptedException {
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        temporary = Files.createDirectory(directory.resolve("tmp"));
        environment.put("TMPDIR", temporary.toString());
    }

    /** Returns SIGINT; SIGTERM where processes ignore that from birth, as those do that a shell has put into the background. */
    private static int interrupt() throws IOException {
        String ignored = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("SigIgn:"))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst()
                .orElseThrow();
        boolean isIgnored = (Long.parseUnsignedLong(ignored, 16) >> (SIGINT - 1) & 1) == 1;
        return isIgnored ? SIGTERM : SIGINT;
    }

    private Command start(String... words) throws IOException {
        return Command.start(directory, environment, List.of(words));
    }

    /** Sends a signal when something is so, and waits for the end. */
    private Result endedWhen(Callable<Boolean> isSo, int signal, String... words) throws Exception {
        try (Command command = start(words)) {
            Command.until("the moment", () -> isSo.call() || !command.process.isAlive());
            new ProcessBuilder("kill", "-" + signal, Long.toString(command.process.pid()))
                    .start()
                    .waitFor();
            return command.await(120);
        }
    }

    /** Sends a signal when so much time has passed since the start, and waits for the end. */
    private Result endedAfter(long delayNs, int signal, String... words) throws Exception {
        long startNs = System.nanoTime();
        return endedWhen(() -> System.nanoTime() - startNs > delayNs, signal, words);
    }

    /** Returns how long a command takes until its output has a line with this beginning, and ends it. */
    private long timeUntil(String line, String... words) throws Exception {
        long startNs = System.nanoTime();
        try (Command command = start(words)) {
            Command.until(line, () -> {
                assertThat(command.process.isAlive()).as(command.err()).isTrue();
                return command.out().contains(line);
            });
            long tookNs = System.nanoTime() - startNs;
            command.process.destroy();
            command.await(120);
            return tookNs;
        }
    }

    /** Lines of standard error but the greeting of a node, and what it logs for information. */
    private static List<String> complaints(Result result) {
        return result.err()
                .lines()
                .filter(line -> !line.contains(" INFO ") && !line.contains("waybill 0.1.0 on Java"))
                .toList();
    }

    private void requireThatNothingDied() throws IOException, InterruptedException {
        assertThat(Command.run(directory, environment, WAYBILL, "workers", "--all")
                        .out())
                .doesNotContain("starting")
                .doesNotContain("died");
    }

    @Test
    void aNodeLeavesFromEachStepOfItsStart() throws Exception {
        for (String step : STEPS) {
            Path home = directory.resolve("home-" + STEPS.indexOf(step));
            environment.put("WAYBILL_HOME", home.toString());
            Result ended = endedWhen(() -> Files.exists(home.resolve(step)), SIGTERM, WAYBILL, "node", "--name", "ps0");

            assertThat(ended.exitCode()).as("%s: %s", step, ended).isZero();
            assertThat(complaints(ended)).as(step).hasSizeLessThanOrEqualTo(1);
            requireThatNothingDied();
            requireThatItStartsAgain();
        }
    }

    private void requireThatItStartsAgain() throws Exception {
        try (Command again = start(WAYBILL, "node", "--name", "ps0")) {
            Command.until("ready again", () -> {
                assertThat(again.process.isAlive()).as(again.err()).isTrue();
                return again.out().contains("ready ps0 id=0");
            });
            assertThat(again.err()).doesNotContain(" WARN ").doesNotContain(" ERROR ");
            again.process.destroy();
            assertThat(again.await(120).exitCode()).isZero();
        }
    }

    @Test
    @Tag("ci")
    void aNodeLeavesWhateverItWasDoing() throws Exception {
        String[] node = {WAYBILL, "node", "--name", "ps0"};
        long readyNs = timeUntil("ready ps0", node);
        for (int moment = 1; moment <= MOMENTS; moment++) {
            int signal = moment % 2 == 0 ? interrupt() : SIGTERM;
            Result ended = endedAfter(readyNs * moment / MOMENTS, signal, node);

            assertThat(ended.exitCode()).as("moment %d: %s", moment, ended).isIn(0, SIGNALLED + signal);
            assertThat(complaints(ended)).as("moment %d", moment).hasSizeLessThanOrEqualTo(1);
            requireThatNothingDied();
        }
        requireThatItStartsAgain();
    }

    @Test
    @Tag("ci")
    void aSupervisorTakesItsNodesAlong() throws Exception {
        Path nodes = Files.writeString(
                directory.resolve("nodes.properties"), "nodes = a, b\nnode.a.shipped = none\nnode.b.shipped = none\n");
        String[] up = {WAYBILL, "up", "--nodes", nodes.toString()};
        long readyNs = timeUntil("ready a", up);
        for (int moment = 1; moment <= MOMENTS; moment++) {
            Result ended = endedAfter(readyNs * moment / MOMENTS, SIGTERM, up);

            assertThat(ended.exitCode()).as("moment %d: %s", moment, ended).isIn(0, SIGNALLED + SIGTERM);
            assertThat(complaints(ended)).as("moment %d", moment).hasSizeLessThanOrEqualTo(2); // one of each node
            requireNoProcess();
            requireThatNothingDied();
        }
    }

    @Test
    @Tag("ci")
    void aDemoTakesItsProcessesAndFilesAlong() throws Exception {
        long nodesNs = timeUntil("ready ps1", WAYBILL, "demo");
        requireThatNothingIsLeft();
        for (int moment = 2; moment <= MOMENTS; moment += 2) {
            int signal = interrupt();
            Result ended = endedAfter(nodesNs * moment / MOMENTS, signal, WAYBILL, "demo");

            assertThat(ended.exitCode()).as("moment %d: %s", moment, ended).isEqualTo(SIGNALLED + signal);
            assertThat(complaints(ended)).as("moment %d", moment).hasSizeLessThanOrEqualTo(1);
            requireThatNothingIsLeft();
        }
    }

    private void requireThatNothingIsLeft() throws Exception {
        requireNoProcess();
        assertThat(temporary).isEmptyDirectory();
    }

    private void requireNoProcess() throws Exception {
        Command.until("no process of this test is left", () -> {
            try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
                return processes.noneMatch(this::isOfThisTest);
            }
        });
    }

    private boolean isOfThisTest(Path process) {
        try {
            return process.getFileName().toString().matches("\\d+")
                    && Files.readString(process.resolve("environ"), StandardCharsets.ISO_8859_1)
                            .contains(directory.toString());
        } catch (IOException e) {
            return false; // ended, or another user's
        }
    }
}
