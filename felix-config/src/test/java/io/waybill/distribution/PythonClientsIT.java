package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Python clients that call each other while their gateway changes, restarts and is killed: each goes on as the worker that it was, each call has one outcome, and none
 * runs twice. Skipped without {@code /usr/bin/python3}.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class PythonClientsIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Path PYTHON = Path.of("/usr/bin/python3");
    private static final Path PROGRAM = Path.of("src/test/python/going_on.py").toAbsolutePath();
    private static final int CLIENTS = 20;
    private static final String SERVERS = "py0,py1,py2,py3,py4";
    /** How many calls of each client succeed before the next disturbance. */
    private static final int CALLS = 3;
    /** What a call may end with when its caller or its callee is disconnected. */
    private static final Set<String> OUTCOMES = Set.of("ok", "WORKER_LOST", "UNKNOWN_WORKER");

    /**
     * The end of a call.
     *
     * @param worker id of the caller, as its gateway gave it
     */
    private record Outcome(String call, String code, String worker) {}

    @TempDir
    private Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private final List<Command> clients = new ArrayList<>();
    private Path settings;
    private Path logs;
    private Command up;

    @BeforeEach
    void start() throws Exception {
        assumeTrue(Files.isExecutable(PYTHON), "there is no " + PYTHON);
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        environment.put("PYTHONPATH", DISTRIBUTION.resolve("share/python").toString());
        settings = Files.createDirectory(directory.resolve("conf"));
        try (DirectoryStream<Path> files = Files.newDirectoryStream(DISTRIBUTION.resolve("conf"))) {
            for (Path file : files) {
                Files.copy(file, settings.resolve(file.getFileName()));
            }
        }
        Path nodes = Files.writeString(
                settings.resolve("nodes.properties"), "nodes = gate\nnode.gate.shipped = io.waybill.python\n");
        up = Command.start(directory, environment, List.of(waybill(), "up", "--nodes", nodes.toString()));
        awaitReady(1);
        logs = Files.createDirectory(directory.resolve("logs"));
        for (String name : names()) {
            clients.add(Command.start(
                    directory,
                    environment,
                    List.of(PYTHON.toString(), "-B", PROGRAM.toString(), logs.toString(), name, SERVERS)));
        }
    }

    @AfterEach
    void stop() {
        clients.forEach(Command::close);
        if (up != null) {
            up.close();
        }
    }

    private static String waybill() {
        return DISTRIBUTION.resolve("bin/waybill").toString();
    }

    private static List<String> names() {
        return IntStream.range(0, CLIENTS).mapToObj(i -> "py" + i).toList();
    }

    private void awaitReady(int times) throws Exception {
        Command.until("the node is ready for the " + times + ". time", () -> {
            assertThat(up.process.isAlive()).as(up.err()).isTrue();
            return up.out().split("ready gate id=", -1).length > times;
        });
    }

    private ProcessHandle node() throws IOException {
        List<MatchResult> started = Pattern.compile("started gate pid=([0-9]+)")
                .matcher(up.out())
                .results()
                .toList();
        return ProcessHandle.of(Long.parseLong(started.get(started.size() - 1).group(1)))
                .orElseThrow();
    }

    private List<Outcome> outcomes(String name) throws IOException {
        Path file = logs.resolve(name + ".calls");
        if (Files.notExists(file)) {
            return List.of();
        }
        return Files.readAllLines(file).stream()
                .map(line -> line.split(" "))
                .filter(words -> words.length == 3)
                .map(words -> new Outcome(words[0], words[1], words[2]))
                .toList();
    }

    private List<Outcome> outcomes() throws IOException {
        List<Outcome> all = new ArrayList<>();
        for (String name : names()) {
            all.addAll(outcomes(name));
        }
        return all;
    }

    private long succeeded(String name) throws IOException {
        return outcomes(name).stream().filter(each -> each.code().equals("ok")).count();
    }

    private static List<String> codes(List<Outcome> outcomes) {
        return outcomes.stream().map(Outcome::code).distinct().toList();
    }

    /** Waits until further calls of each client have succeeded. */
    private void awaitCalls(String when) throws Exception {
        Map<String, Long> before = new HashMap<>();
        for (String name : names()) {
            before.put(name, succeeded(name));
        }
        Command.until("further calls of all clients " + when, () -> {
            for (int i = 0; i < CLIENTS; i++) {
                assertThat(clients.get(i).process.isAlive())
                        .as(
                                "client py%s goes on %s: %s",
                                i, when, clients.get(i).err())
                        .isTrue();
                if (succeeded("py" + i) < before.get("py" + i) + CALLS) {
                    return false;
                }
            }
            return true;
        });
    }

    private void configure(String settingsOfPython) throws IOException {
        Path whole = Files.writeString(directory.resolve("new.cfg"), settingsOfPython);
        Files.move(whole, settings.resolve("io.waybill.python.cfg"), StandardCopyOption.REPLACE_EXISTING);
    }

    @Test
    void goOnAsTheWorkersThatTheyWere() throws Exception {
        Command.until("all clients have begun", () -> {
            for (String name : names()) {
                if (succeeded(name) == 0) {
                    return false;
                }
            }
            return true;
        });
        configure("pool.size = 0\n");
        Command.until(
                "the changed setting is in use",
                () -> Command.run(directory, environment, waybill(), "call", "--to", "gate", "statistics:mean", "[1]")
                        .err()
                        .contains("pool.size in io.waybill.python.cfg is 0"));
        awaitCalls("behind the change of a setting");
        assertThat(codes(outcomes())).as("outcomes while a setting changed").doesNotContain("WORKER_LOST");

        Result restarted = Command.run(directory, environment, waybill(), "restart", "gate");
        assertThat(restarted.exitCode()).as(restarted.err()).isZero();
        awaitCalls("behind a restart");

        node().destroyForcibly();
        awaitReady(3);
        awaitCalls("behind the death of the node");

        Files.createFile(logs.resolve("stop"));
        for (Command client : clients) {
            assertThat(client.await(60).exitCode()).as(client.err()).isZero();
        }
        check();
    }

    /** What the clients have printed. */
    private List<String> said() throws IOException {
        List<String> all = new ArrayList<>();
        for (Command client : clients) {
            client.err().lines().forEach(all::add);
        }
        return all;
    }

    private void check() throws IOException {
        Map<String, Integer> runs = new HashMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(logs, "*.runs")) {
            for (Path file : files) {
                Files.readAllLines(file).forEach(call -> runs.merge(call, 1, Integer::sum));
            }
        }
        List<Outcome> outcomes = outcomes();
        Set<String> ended = new HashSet<>();
        for (Outcome each : outcomes) {
            assertThat(ended.add(each.call()))
                    .as("the only outcome of %s", each)
                    .isTrue();
            assertThat(OUTCOMES).as("%s, %s", each, said()).contains(each.code());
            assertThat(runs.getOrDefault(each.call(), 0))
                    .as("runs of %s", each)
                    .isBetween(each.code().equals("ok") ? 1 : 0, each.code().equals("UNKNOWN_WORKER") ? 0 : 1);
        }
        assertThat(ended).as("calls that ran").containsAll(runs.keySet());
        assertThat(codes(outcomes)).as("some calls were in flight").contains("WORKER_LOST");
        Set<String> workers = new TreeSet<>();
        for (String name : names()) {
            List<String> ids =
                    outcomes(name).stream().map(Outcome::worker).distinct().toList();
            assertThat(ids).as("worker ids of %s", name).hasSize(1);
            assertThat(workers.add(ids.get(0)))
                    .as("worker %s is %s alone", ids, name)
                    .isTrue();
        }
    }
}
