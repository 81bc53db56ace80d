package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.distribution.Command.Result;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Scripts in a node of the assembled distribution: added, replaced and removed while they are called. */
@Tag("ci")
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class ScriptsIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Path EXAMPLE =
            Path.of("../examples/scripts-bundle").toAbsolutePath().normalize();
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(60);

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private Command node;
    private Worker caller;
    private Path scripts;

    @BeforeEach
    void startNodeAndCaller() throws IOException, InterruptedException {
        Path home = directory.resolve("home");
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", home.toString());
        node = Command.start(directory, environment, words("node", "--name", "ps0"));
        until("the node is ready", () -> out().startsWith("ready ps0"));
        try (DirectoryStream<Path> workers = Files.newDirectoryStream(home.resolve("workers"), "*-ps0")) {
            scripts = workers.iterator().next().resolve("scripts");
        }
        Host host = Host.real();
        HandlerRegistry none = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        WorkerSettings settings =
                WorkerSettings.builder().role(WorkerSettings.Role.CALLS_ONLY).build();
        caller = Worker.join(Home.open(home, host), "caller", JoinOptions.defaults(), settings, none);
        caller.ready(Map.of());
    }

    @AfterEach
    void stop() throws IOException {
        caller.close();
        node.close();
    }

    private String out() {
        try {
            return node.out();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private void until(String what, BooleanSupplier isSo) throws IOException {
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (!isSo.getAsBoolean()) {
            assertThat(node.process.isAlive()).as(node.err()).isTrue();
            assertThat(System.nanoTime())
                    .as("in time: %s; %s", what, node.err())
                    .isLessThan(untilNs);
            LockSupport.parkNanos(5_000_000);
        }
    }

    private static List<String> words(String... args) {
        List<String> words = new java.util.ArrayList<>(List.of(args));
        words.add(0, DISTRIBUTION.resolve("bin/waybill").toString());
        return words;
    }

    private Result waybill(String... args) throws IOException, InterruptedException {
        return Command.run(directory, environment, words(args).toArray(String[]::new));
    }

    private void drop(String name, String text) throws IOException {
        Path hidden = Files.writeString(scripts.resolve("." + name), text);
        Files.setPosixFilePermissions(hidden, PosixFilePermissions.fromString("rw-r--r--"));
        Files.move(hidden, hidden.resolveSibling(name), StandardCopyOption.ATOMIC_MOVE);
    }

    private static String version(int version) {
        return "def number() -> int:\n    return " + version + "\n";
    }

    private long number() {
        Invocation call = new Invocation("version.number", List.of(), Map.of());
        try (Response response = caller.call(
                Request.invocation("ps0", MessageType.SCRIPT_CALL, call).timeout(Duration.ofSeconds(50)))) {
            return ((Value.Int) response.value()).value();
        }
    }

    private String scriptsOfNode() {
        Request request = Request.invocation(
                "ps0", MessageType.CONTROL_CALL, new Invocation("scripts.list", List.of(), Map.of()));
        try (Response response = caller.call(request)) {
            return response.value().toString();
        }
    }

    /** Calls on and on, and keeps the first failure. */
    private final class Traffic implements AutoCloseable {
        final AtomicReference<Throwable> failure = new AtomicReference<>();
        volatile long last; // written by the thread, read by the test
        volatile long calls; // written by the thread, read by the test
        private volatile boolean ended; // written by the test, read by the thread
        private final Thread thread = new Thread(this::run, "traffic");

        Traffic() {
            thread.start();
        }

        private void run() {
            try {
                while (!ended) {
                    last = number();
                    calls = calls + 1;
                }
            } catch (RuntimeException e) {
                failure.set(e);
            }
        }

        @Override
        public void close() {
            ended = true;
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Test
    void addsReplacesAndRemovesAFileUnderCallsAndFailsNone() throws Exception {
        drop("version.py", version(1));
        until("the function is there", () -> isServed("version.number"));
        try (Traffic traffic = new Traffic()) {
            for (int version = 2; version <= 8; version++) {
                long wanted = version;
                drop("version.py", version(version));
                until(
                        "version " + version + " responds",
                        () -> traffic.last == wanted || traffic.failure.get() != null);
            }
            drop("version.py", "def number() -> int:\n    return missing\n");
            until("it is refused", () -> scriptsOfNode().contains("line 2: undefined value missing"));
            assertThat(number()).isEqualTo(8);

            Files.delete(scripts.resolve("version.py"));
            until("it is gone", () -> !scriptsOfNode().contains("version"));
            drop("version.py", version(9));
            until("it is back", () -> traffic.last == 9 || traffic.failure.get() != null);
            assertThat(traffic.failure.get()).isNull();
            assertThat(traffic.calls).isGreaterThan(9);
        }
        assertThat(node.err().split("line 2: undefined value missing", -1))
                .as("said once in the log")
                .hasSize(2);
        assertThat(node.err()).contains(scripts.resolve("version.py") + " is not taken, and the former serves on");
    }

    private boolean isServed(String function) {
        try {
            caller.call(Request.invocation(
                            "ps0", MessageType.SCRIPT_CALL, new Invocation(function, List.of(), Map.of())))
                    .close();
            return true;
        } catch (CallException e) {
            assertThat(e.code()).as(e.getMessage()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
            return false;
        }
    }

    @Test
    void servesTheBookExampleFromTheFolderAndFromABundle() throws Exception {
        drop("math.py", Files.readString(EXAMPLE.resolve("scripts/math.py")));
        until("the example is served", () -> scriptsOfNode().contains("math.longest"));
        assertThat(waybill("call", "--to", "ps0", "aten::ones", "[2]", "--out", "a.npy")
                        .exitCode())
                .isZero();

        assertThat(waybill("call", "--to", "ps0", "math.scale", "a.npy", "by:=3"))
                .isEqualTo(new Result(0, "float32[2] [3.0, 3.0]\n", ""));
        assertThat(waybill("call", "--to", "ps0", "function:math.longest", "['to','be','better']")
                        .out())
                .contains("better");
        Result wrong = waybill("call", "--to", "ps0", "math.scale", "'word'");
        assertThat(wrong.exitCode()).isEqualTo(1);
        assertThat(wrong.err()).contains("math.scale(Tensor x, float by=2.) -> Tensor");
        Result async = waybill("call", "--to", "ps0", "--async", "math.scale", "a.npy");
        assertThat(async.err()).contains("Async functions must return an IValue of Future type, but got Tensor");
        assertThat(waybill("workers").out()).contains("functions:3");

        Files.delete(scripts.resolve("math.py"));
        until("the file is gone", () -> !scriptsOfNode().contains("math"));
        Path jar = bundle();
        Result installed = waybill("bundle", "install", "--node", "ps0", jar.toString());
        assertThat(installed).isEqualTo(new Result(0, "org.acme.math 1.0.0 active\n", ""));
        assertThat(waybill("call", "--to", "ps0", "math.scale", "a.npy").out()).contains("[2.0, 2.0]");
        assertThat(waybill("bundle", "list", "--node", "ps0", "--scripts").out())
                .contains("math.shift(Tensor x, float by) -> Tensor")
                .contains("org.acme.math 1.0.0: scripts/math.py");
        assertThat(waybill("bundle", "list", "--node", "ps0", "--handlers").out())
                .contains("function:math.scale");
    }

    @Test
    void refusesAFunctionOfAFileAloneAndSaysWhyInLogListAndCall() throws Exception {
        drop("mixed.py", """
                import math
                import numpy as np
                import torch.nn.functional as F
                from typing import NamedTuple

                class Point(NamedTuple):
                    x: float
                    y: float = 2.0

                def bad(x):
                    return np.sum(x)

                def area(p: Point) -> float:
                    if p.x < 0:
                        raise ValueError(f"negative: {p.x}")
                    return math.pi * p.x * p.y

                def point(x: float) -> Point:
                    return Point(float(F.relu(torch.tensor(x))))
                """);
        until("the good ones are served", () -> scriptsOfNode().contains("mixed.area"));

        String why = scripts.resolve("mixed.py") + ", line 11: numpy.sum is Python: TorchScript has nothing like it";
        assertThat(waybill("call", "--to", "ps0", "mixed.area", "(1.0,2.0)"))
                .isEqualTo(new Result(0, "6.283185307179586\n", ""));
        assertThat(waybill("call", "--to", "ps0", "mixed.area", "(-1.0,2.0)").err())
                .contains("File \"mixed.py\", line 15, in area")
                .contains("builtins.ValueError: negative: -1");
        assertThat(waybill("call", "--to", "ps0", "function:mixed.bad", "[1]").err())
                .contains("the function mixed.bad is not served: " + why);
        assertThat(node.err()).contains("The function mixed.bad is not served, the others of its file are: " + why);
        assertThat(waybill("bundle", "list", "--node", "ps0", "--scripts").out())
                .contains("mixed.bad is not served: " + why);
    }

    /** As the book makes it. */
    private Path bundle() {
        Path jar = directory.resolve("math-1.0.0.jar");
        PrintWriter out = new PrintWriter(System.err, true);
        int exitCode = ToolProvider.findFirst("jar")
                .orElseThrow()
                .run(
                        out,
                        out,
                        "--create",
                        "--file",
                        jar.toString(),
                        "--manifest",
                        EXAMPLE.resolve("MANIFEST.MF").toString(),
                        "-C",
                        EXAMPLE.toString(),
                        "scripts");
        assertThat(exitCode).isZero();
        return jar;
    }
}
