package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Supervised nodes of the assembled distribution, which are killed. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class UpIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(60);

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void startFromAnEmptyEnvironment() throws IOException, InterruptedException {
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
    }

    private static String launcher() {
        return DISTRIBUTION.resolve("bin/waybill").toString();
    }

    private Command up(String... options) throws IOException {
        List<String> words = new ArrayList<>(List.of(launcher(), "up"));
        words.addAll(List.of(options));
        return Command.start(directory, environment, words);
    }

    private Result waybill(String... args) throws IOException, InterruptedException {
        String[] words = new String[args.length + 1];
        words[0] = launcher();
        System.arraycopy(args, 0, words, 1, args.length);
        return Command.run(directory, environment, words);
    }

    private static void awaitSaid(Command up, int times, String part) throws IOException {
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (up.out().split(Pattern.quote(part), -1).length <= times) {
            assertThat(up.process.isAlive()).as(up.err()).isTrue();
            assertThat(System.nanoTime()).as("%s in time: %s", part, up.out()).isLessThan(untilNs);
            LockSupport.parkNanos(20_000_000);
        }
    }

    /** The process that a node has now. */
    private static ProcessHandle newest(Command up, String node) throws IOException {
        List<MatchResult> started = Pattern.compile("started " + node + " pid=([0-9]+)")
                .matcher(up.out())
                .results()
                .toList();
        return ProcessHandle.of(Long.parseLong(started.get(started.size() - 1).group(1)))
                .orElseThrow();
    }

    private static void awaitGone(ProcessHandle process) {
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (process.isAlive()) {
            assertThat(System.nanoTime()).as("%s ended in time", process.pid()).isLessThan(untilNs);
            LockSupport.parkNanos(20_000_000);
        }
    }

    @Test
    void bringsNodesBackThatCrashOrAreKilledAndStopsThemAll() throws IOException, InterruptedException {
        try (Command up = up()) {
            awaitSaid(up, 1, "ready ops id=");
            awaitSaid(up, 1, "ready main id=");
            Result second = waybill("up");
            assertThat(second.exitCode()).isEqualTo(1);
            assertThat(second.err())
                    .matches("waybill up: ops \\(pid [0-9]+\\), main \\(pid [0-9]+\\) of .* run already: .*\n");

            newest(up, "main").destroyForcibly();
            Command.run(
                    directory,
                    environment,
                    "kill",
                    "-SEGV",
                    Long.toString(newest(up, "ops").pid()));

            awaitSaid(up, 2, "ready main id=");
            awaitSaid(up, 2, "ready ops id=");
            assertThat(up.out())
                    .containsPattern("died main: killed by signal 9 \\(SIGKILL\\), after .*; restarting in 200 ms\n")
                    .containsPattern(
                            "died ops: killed by signal 6 \\(SIGABRT\\); the JVM crashed: SIGSEGV \\(0xb\\) in .*\n"
                                    + "  report " + directory.toRealPath() + "/hs_err_pid[0-9]+\\.log\n");
            assertThat(waybill("call", "--to", "ops", "aten::full", "[1]", "2"))
                    .isEqualTo(new Result(0, "int64[1] [2]\n", ""));
            assertThat(waybill("bundle", "list", "--node", "ops").out()).contains("io.waybill.script-ops");
            assertThat(waybill("bundle", "list", "--node", "main").out())
                    .contains("org.apache.felix.scr")
                    .doesNotContain("script-ops")
                    .doesNotContain("torch");

            up.process.destroy();
            Result ended = up.await();
            assertThat(ended.exitCode()).as(ended.err()).isZero();
            assertThat(ended.out()).contains("stopped ops: exit code 0").contains("stopped main: exit code 0");
        }
        assertThat(waybill("workers").err()).startsWith("No worker is there");
    }

    @Test
    void givesUpANodeWithBundlesThatTheDistributionLacks() throws IOException, InterruptedException {
        Path nodes = Files.writeString(
                directory.resolve("nodes.properties"), "nodes = a\nnode.a.shipped = org.acme.counter\n");
        try (Command up = up("--nodes", nodes.toString())) {
            Result ended = up.await();
            assertThat(ended.exitCode()).as(ended.out()).isNotZero();
            assertThat(ended.out())
                    .contains("gave up a: exit code 2: it was started wrongly")
                    .contains("osgi.shipped names [org.acme.counter], and ");
        }
    }

    @Test
    void restartsAndStopsOneNodeByItsName() throws IOException, InterruptedException {
        Path nodes = Files.writeString(
                directory.resolve("nodes.properties"), "nodes = a, b\nnode.a.shipped = none\nnode.b.shipped = none\n");
        try (Command up = up("--nodes", nodes.toString())) {
            awaitSaid(up, 1, "ready a id=");
            awaitSaid(up, 1, "ready b id=");
            long first = newest(up, "a").pid();

            Result restarted = waybill("restart", "a");
            assertThat(restarted.exitCode()).as(restarted.err()).isZero();
            long second = newest(up, "a").pid();
            assertThat(restarted.out()).isEqualTo("restarted a pid=" + second + ", which was pid=" + first + "\n");

            Result stopped = waybill("stop", "a");
            assertThat(stopped).isEqualTo(new Result(0, "stopped a pid=" + second + "\n", ""));
            awaitSaid(up, 1, "stopped a: exit code 3");
            assertThat(waybill("stop", "a").err()).startsWith("waybill stop: a does not run; start it: ");
            assertThat(waybill("journal", "list", "--control", "--to", "a").out())
                    .containsPattern("control:node.stop(.*\n)+.*control:node.stop");

            assertThat(waybill("stop", "b").exitCode()).isZero();
            Result ended = up.await();
            assertThat(ended.exitCode()).as(ended.err()).isZero();
            assertThat(ended.out()).doesNotContain("gave up").contains("died a: exit code 0");
        }
    }

    @Test
    void takesItsNodesAlongWhenItIsKilled() throws IOException {
        Path nodes = Files.writeString(directory.resolve("nodes.properties"), "nodes = a\nnode.a.shipped = none\n");
        try (Command up = up("--nodes", nodes.toString())) {
            awaitSaid(up, 1, "ready a id=0");
            ProcessHandle node = newest(up, "a");

            up.process.destroyForcibly();

            awaitGone(node);
        }
    }

    @Test
    void refusesSettingsThatAreWrongBeforeItStartsAnything() throws IOException, InterruptedException {
        Path nodes = Files.writeString(directory.resolve("nodes.properties"), "nodes = a\n");
        Path settings = Files.writeString(directory.resolve("waybill.properties"), "worker.waiting = sleepy\n");

        Result refused = waybill("up", "--nodes", nodes.toString());

        assertThat(refused.exitCode()).isEqualTo(1);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err())
                .startsWith("waybill up: " + settings + ": worker.waiting: ")
                .hasLineCount(1);
    }
}
