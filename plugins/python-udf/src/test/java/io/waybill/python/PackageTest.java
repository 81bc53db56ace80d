package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.testing.TestBroker;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowingConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes with the Python package, through the bundle in a node. */
@Timeout(600)
class PackageTest {

    private static final Path PYTHON = Path.of("/usr/bin/python3");
    private static final Path PACKAGE = Path.of("../../clients/python");

    @TempDir
    private Path directory;

    private TestBroker broker;

    @BeforeEach
    void start() throws IOException {
        assumeTrue(Files.isExecutable(PYTHON), "there is no " + PYTHON);
        broker = TestBroker.start(directory, Path.of("target/classes"));
        broker.handle(
                TestBroker.SERVER,
                "text.count",
                (message, outbox) ->
                        outbox.response().int64("words", message.text("text").split(" ").length));
        Files.createDirectory(code());
        configure(false);
        PoolReadiness.await(broker);
    }

    private void configure(boolean byValue) throws IOException {
        String path = PACKAGE.toAbsolutePath().normalize() + ":" + code();
        broker.configure(
                "io.waybill.python",
                Map.of("interpreter", PYTHON.toString(), "path", path, "by.value", Boolean.toString(byValue)));
    }

    @AfterEach
    void stop() throws IOException {
        if (broker != null) {
            broker.close();
        }
    }

    private Process worker(String script, String name, String... arguments) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(PYTHON.toString(), "src/test/python/" + script, name);
        builder.command().addAll(List.of(arguments));
        builder.redirectErrorStream(true).redirectOutput(log(name).toFile());
        builder.environment()
                .put("PYTHONPATH", PACKAGE.toAbsolutePath().normalize().toString());
        builder.environment().put("WAYBILL_HOME", broker.home().toString());
        return builder.start();
    }

    private Path log(String name) {
        return directory.resolve(name + ".log");
    }

    @Test
    void callsBetweenTwoProcessesAndThePool() throws Exception {
        Process one = worker("two_workers.py", "one");
        try {
            Waits.until(
                    "the other one serves", () -> Files.readString(log("one")).contains("ready") || !one.isAlive());
            Process two = worker("two_workers.py", "two");
            try {
                assertThat(two.waitFor(120, TimeUnit.SECONDS))
                        .as(() -> said("two"))
                        .isTrue();
            } finally {
                two.destroyForcibly();
            }
            assertThat(said("two").lines())
                    .containsExactly("sum 5", "back to be", "large 300000", "pool 42", "count 2");
            one.getOutputStream().close();
            assertThat(one.waitFor(120, TimeUnit.SECONDS)).as(() -> said("one")).isTrue();
            assertThat(one.exitValue()).as(() -> said("one")).isZero();
        } finally {
            one.destroyForcibly();
        }
    }

    /** Three deep, in Python and called from Java: the first caller gets the code of the worker that was killed. */
    @Test
    void givesTheFirstCallerTheInnermostCode() throws Exception {
        List<String> names = List.of("one", "two", "three");
        List<Process> processes = new ArrayList<>();
        try {
            for (String name : names) {
                processes.add(worker("nested_failures.py", name));
            }
            for (String name : names) {
                Waits.until(name + " serves", () -> Files.readString(log(name)).contains("ready"));
            }
            Process caller = worker("nested_failures.py", "first", "two,three", "nest", "wrap");
            processes.add(caller);
            assertThat(caller.waitFor(120, TimeUnit.SECONDS))
                    .as(() -> said("first"))
                    .isTrue();
            // the second time the innermost one is gone, and the call to it may not be sent
            assertThat(said("first"))
                    .matches(
                            "nest REFUSED WORKER_LOST [0-9]+\\.[0-9]+\nwrap HANDLER_FAILED WORKER_LOST (None|[0-9]+\\.[0-9]+)\n");
            Request request = Request.operation("one", "nest");
            request.body().text("path", "two,three");
            CallException failed = catchThrowableOfType(
                    CallException.class, () -> broker.caller().call(request).close());
            assertThat(failed.code()).isEqualTo(ErrorCode.REFUSED);
            assertThat(failed.rootCode()).as(failed.getMessage()).isEqualTo(ErrorCode.WORKER_LOST);
        } finally {
            processes.forEach(Process::destroyForcibly);
        }
    }

    @Test
    void keepsObjectsForReferencesToThem() throws Exception {
        Process bob = worker("references.py", "bob");
        Process cid = worker("references.py", "cid");
        Process ann = null;
        try {
            Waits.until(
                    "the others serve",
                    () -> Files.readString(log("bob")).contains("ready")
                                    && Files.readString(log("cid")).contains("ready")
                            || !bob.isAlive()
                            || !cid.isAlive());
            ann = worker("references.py", "ann");
            assertThat(ann.waitFor(240, TimeUnit.SECONDS)).as(() -> said("ann")).isTrue();
            assertThat(said("ann").lines().filter(line -> !line.startsWith("then ")))
                    .satisfiesExactly(
                            is("to_here 5"),
                            is("third 5"),
                            is("confirmed True bob False"),
                            is("method 15 16 17"),
                            is("local 17"),
                            is("own [1, 2] [1, 2]"),
                            is("itself 42 True"),
                            is("raised True"),
                            is("pool abab"),
                            line -> assertThat(line).startsWith("deleted "),
                            line -> assertThat(line).startsWith("lost WorkerLost "));
            assertThat(bob.waitFor(120, TimeUnit.SECONDS)).as(() -> said("bob")).isTrue();
            assertThat(bob.exitValue()).as("bob ends itself").isEqualTo(3);
        } finally {
            bob.destroyForcibly();
            cid.destroyForcibly();
            if (ann != null) {
                ann.destroyForcibly();
            }
        }
    }

    @Test
    void runsCodeOfItsCallersOnlyIfThePoolMay() throws Exception {
        assertThat(run("code_by_value.py", "one").lines()).containsExactly("eval REFUSED True", "mul 42");
        configure(true);
        Waits.until(
                "the new pool has its settings",
                () -> run("code_by_value.py", "two").contains("eval 42\nmul 42\n"));
    }

    @Test
    void replacesProcessesWhoseModulesHaveChanged() throws Exception {
        List<String> said = run("reloads.py", "one", code().toString()).lines().toList();
        assertThat(said).startsWith("changed", "kept 1", "slow 1", "kept 1").hasSize(5);
        long former = Long.parseLong(said.get(4).replace("pid ", ""));
        Waits.until(
                "the former process has ended",
                () -> ProcessHandle.of(former).filter(ProcessHandle::isAlive).isEmpty());
    }

    @Test
    void valuesAndTimesArriveAsTheyWereSent() throws Exception {
        assertThat(roundTrips("1", "")).containsExactly("callee pickle 104857600", "server pickle 104857600", "end");
    }

    @Test
    void arraysAndTensorsArriveAsTheyWereSent() throws Exception {
        String libraries = "numpy,torch";
        assumeTrue(imports(libraries), "there is no " + libraries);
        List<String> sent = List.of("pickle 104857600", "sum 524800.0", "sum 12497500.0");
        List<String> found = roundTrips("2", libraries);
        for (String to : List.of("callee", "server")) {
            assertThat(found)
                    .containsAll(sent.stream().map(each -> to + " " + each).toList());
        }
        assertThat(found.stream().filter(line -> line.contains("at most 32768 tensors, found 4000")))
                .as("one line for each way: %s", found)
                .hasSize(3);
        assertThat(found).contains("back 524800.0", "back 12497500.0", "back 2").hasSize(13);
    }

    /** Returns what a process says that sends values to another one and to the pool: what did not arrive, and the end. */
    private List<String> roundTrips(String number, String libraries) throws Exception {
        String served = "callee" + number;
        Process callee = worker("round_trips.py", served, libraries);
        try {
            Waits.until(
                    "the other one serves", () -> Files.readString(log(served)).contains("ready") || !callee.isAlive());
            Process caller = worker("round_trips.py", "c" + number, libraries);
            try {
                assertThat(caller.waitFor(240, TimeUnit.SECONDS))
                        .as(() -> said("c" + number) + said(served))
                        .isTrue();
            } finally {
                caller.destroyForcibly();
            }
            return said("c" + number).lines().toList();
        } finally {
            callee.destroyForcibly();
        }
    }

    private static boolean imports(String libraries) throws Exception {
        return new ProcessBuilder(PYTHON.toString(), "-c", "import " + libraries)
                        .start()
                        .waitFor()
                == 0;
    }

    /** Returns the directory of the operator's modules. */
    private Path code() {
        return directory.resolve("code");
    }

    private String run(String script, String name, String... arguments) throws IOException, InterruptedException {
        Process process = worker(script, name, arguments);
        try {
            assertThat(process.waitFor(120, TimeUnit.SECONDS))
                    .as(() -> said(name))
                    .isTrue();
            return said(name);
        } finally {
            process.destroyForcibly();
        }
    }

    private static ThrowingConsumer<String> is(String expected) {
        return line -> assertThat(line).isEqualTo(expected);
    }

    private String said(String name) {
        try {
            return Files.readString(log(name));
        } catch (IOException e) {
            return e.toString();
        }
    }
}
