package io.waybill.cli.supervise;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real processes, which do at once what nodes do in their time. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class SupervisorTest {

    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(30);
    private static final RestartSettings SOON =
            new RestartSettings(Duration.ofMillis(10), Duration.ofMillis(40), Duration.ofMinutes(10));
    private static final RestartSettings NEVER =
            new RestartSettings(Duration.ofHours(1), Duration.ofHours(1), Duration.ofHours(1));
    private static final String SERVE = "echo ready $0 id=3; exec cat";

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final CountDownLatch allEnded = new CountDownLatch(1);

    private Supervisor supervisor = new Supervisor(Host.real().threads());

    @AfterEach
    void stopAll() {
        supervisor.close();
    }

    private void start(RestartSettings restarts, String script, String... names) {
        start(EventLines.Form.TEXT, restarts, script, names);
    }

    private void start(EventLines.Form form, RestartSettings restarts, String script, String... names) {
        List<NodePlan> plans = Arrays.stream(names)
                .map(name -> new NodePlan(name, Path.of("."), List.of(), List.of()))
                .toList();
        supervisor.start(
                new NodesFile(plans, restarts),
                plan -> new ProcessBuilder("/bin/sh", "-c", script, plan.name()),
                new EventLines(new PrintWriter(out), new PrintWriter(err), form),
                allEnded::countDown);
    }

    private void await(Predicate<String> said) {
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (!said.test(out.toString())) {
            assertThat(System.nanoTime()).as("said in time: %s", out).isLessThan(untilNs);
            LockSupport.parkNanos(2_000_000);
        }
    }

    private static int count(String text, String part) {
        return text.split(Pattern.quote(part), -1).length - 1;
    }

    @Test
    void startsAgainWhatWasKilled() throws InterruptedException {
        start(SOON, SERVE, "a", "b");
        await(said -> count(said, "ready ") == 2);
        Matcher pid = Pattern.compile("started a pid=([0-9]+)").matcher(out.toString());
        assertThat(pid.find()).isTrue();

        ProcessHandle.of(Long.parseLong(pid.group(1))).orElseThrow().destroyForcibly();

        await(said -> count(said, "ready a id=3") == 2);
        supervisor.close();
        assertThat(out.toString())
                .containsSubsequence("started a pid=", "ready a", "died a", "started a pid=", "ready a")
                .containsPattern("died a: killed by signal 9 \\(SIGKILL\\), after [0-9.]+ m?s; restarting in 10 ms\n")
                .contains("stopped a: exit code 143")
                .contains("stopped b: exit code 143");
        assertThat(count(out.toString(), "started b")).isEqualTo(1);
        assertThat(allEnded.await(LIMIT_NS, TimeUnit.NANOSECONDS)).isTrue();
    }

    @Test
    void waitsLongerEachTimeAndShowsTheLastLines() {
        String script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done; exit 1";
        start(SOON, script, "a");
        await(said -> count(said, "restarting in 40 ms") >= 2);
        supervisor.close();
        assertThat(out.toString())
                .containsSubsequence("restarting in 10 ms", "restarting in 20 ms", "restarting in 40 ms")
                .contains("died a: exit code 1: it failed, see its last lines, after ")
                .contains("\n  | line 3\n")
                .contains("\n  | line 12\n")
                .doesNotContain("  | line 2\n");
        assertThat(err.toString()).contains("a | line 1\n");
    }

    /** As a node does that somebody told to stop: this is how one node is restarted. */
    @Test
    void startsAgainWhatEndedWell() {
        start(SOON, "echo ready $0 id=3; exit 0", "a");
        await(said -> count(said, "died a") >= 1 || !supervisor.isAnyLeft());
        assertThat(out.toString())
                .as("what is said of a node whose process ended with 0 and was not told to by us")
                .containsPattern("died a: exit code 0.*; restarting in 10 ms\n")
                .doesNotContain("gave up");
        await(said -> count(said, "started a pid=") >= 2);
    }

    @Test
    void givesUpWhatWasStartedWrongly() throws InterruptedException {
        start(SOON, "echo no such option >&2; exit 2", "a", "b");
        assertThat(allEnded.await(LIMIT_NS, TimeUnit.NANOSECONDS)).isTrue();
        supervisor.close();
        assertThat(out.toString())
                .contains("gave up a: exit code 2: it was started wrongly, after ")
                .contains("; not started again\n  | no such option\n");
        assertThat(supervisor.givenUp()).isEqualTo(2);
        assertThat(count(out.toString(), " pid=")).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Unrecognized VM option 'FooBar'",
                "Unrecognized option: -Xfoo",
                "Invalid maximum heap size: -Xmx1q"
            })
    void givesUpWhatTheJvmRefuses(String refusal) throws InterruptedException {
        String jvm = "echo \"" + refusal + "\" >&2; echo Error: Could not create the Java Virtual Machine. >&2; exit 1";
        start(SOON, jvm, "a");
        assertThat(allEnded.await(LIMIT_NS, TimeUnit.NANOSECONDS)).isTrue();
        assertThat(out.toString()).contains("gave up a: exit code 1", "; not started again\n  | " + refusal + "\n");
        assertThat(supervisor.givenUp()).isEqualTo(1);
    }

    @Test
    void startsAgainWhatHadTooLittleMemory() {
        String jvm = "echo Could not reserve enough space for 4194304KB object heap >&2;"
                + " echo Error: Could not create the Java Virtual Machine. >&2; exit 1";
        start(SOON, jvm, "a");
        await(said -> count(said, "died a: exit code 1") >= 2 || !supervisor.isAnyLeft());
        assertThat(out.toString()).doesNotContain("gave up");
    }

    /** As a node does that was ended by {@code waybill stop}. */
    @Test
    void leavesStoppedWhatWasStoppedByName() throws InterruptedException {
        start(SOON, "echo ready $0 id=3; exit 3", "a", "b");
        assertThat(allEnded.await(LIMIT_NS, TimeUnit.NANOSECONDS)).isTrue();
        supervisor.close();
        assertThat(supervisor.givenUp()).isZero();
        assertThat(out.toString())
                .contains("stopped a: exit code 3", "stopped b: exit code 3")
                .doesNotContain("died", "gave up");
        assertThat(count(out.toString(), " pid=")).isEqualTo(2);
    }

    @Test
    void stopsWhatWaitsToBeStartedAgain() throws InterruptedException {
        start(NEVER, "exit 1", "a");
        await(said -> said.contains("restarting in 3600.0 s"));
        supervisor.close();
        assertThat(allEnded.await(LIMIT_NS, TimeUnit.NANOSECONDS)).isTrue();
    }

    @Test
    void killsWhatDoesNotStop() {
        supervisor = new Supervisor(Host.real().threads(), Duration.ofMillis(50));
        String deaf = "trap '' TERM; echo ready $0 id=3; while true; do sleep 0.01; done";
        start(EventLines.Form.TEXT, SOON, deaf, "a");
        await(said -> said.contains("ready a"));
        supervisor.close();
        assertThat(out.toString())
                .contains("killed a: did not end within 50 ms")
                .contains("stopped a: exit code 137");
    }

    @Test
    void keepsTryingWhatCanNotBeRun() {
        supervisor.start(
                new NodesFile(List.of(new NodePlan("a", Path.of("."), List.of(), List.of())), SOON),
                plan -> new ProcessBuilder("/nonexistent/waybill"),
                new EventLines(new PrintWriter(out), new PrintWriter(err), EventLines.Form.TEXT),
                allEnded::countDown);
        await(said -> count(said, "died a: Cannot run program \"/nonexistent/waybill\"") >= 2);
        supervisor.close();
    }

    @Test
    void reportsPrograms() {
        start(EventLines.Form.JSON, SOON, "echo why >&2; exit 1", "a");
        await(said -> said.contains("\"restart_in_ms\":20"));
        supervisor.close();
        assertThat(out.toString().lines())
                .allMatch(line -> line.startsWith("{\"at\":\"") && line.endsWith("}"))
                .anyMatch(line -> line.contains("\"event\":\"started\",\"node\":\"a\",\"pid\":"))
                .anyMatch(line -> line.contains("\"event\":\"died\",\"node\":\"a\",\"pid\":")
                        && line.contains("\"exit_code\":1,\"reason\":\"exit code 1: it failed, see its last lines\"")
                        && line.contains("\"last_lines\":[\"why\"],\"restart_in_ms\":10"));
    }
}
