package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.CallException;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.TestBroker;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Settings that change while the gateway runs: clients stay connected, and calls of the pool go on. */
@Timeout(300)
class ChangedSettingsTest {

    private static final Path PYTHON = Path.of("/usr/bin/python3");
    private static final Path MODULES = Path.of("src/test/python").toAbsolutePath();
    private static final String OFF = "pool.size in io.waybill.python.cfg is 0";
    private static final String BUSY = "test.busy";

    @TempDir
    private Path directory;

    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch gate = new CountDownLatch(1);
    private TestBroker broker;
    private Path socket;

    @BeforeEach
    void start() throws IOException {
        broker = TestBroker.start(directory, Path.of("target/classes"));
        broker.handle(TestBroker.SERVER, BUSY, (message, outbox) -> outbox.respond(Value.of("done")));
        broker.handle(TestBroker.SERVER, "test.parent", (message, outbox) -> {
            begun.countDown();
            try {
                assertThat(gate.await(100, TimeUnit.SECONDS)).as("the gate").isTrue();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            outbox.respond(Value.of("done"));
        });
        try (Stream<Path> found = Files.find(broker.home(), 3, (path, is) -> path.endsWith("python.sock"))) {
            socket = found.findFirst().orElseThrow();
        }
    }

    @AfterEach
    void stop() throws IOException {
        gate.countDown();
        broker.close();
        assertThat(socket).as("the socket of a gateway that has ended").doesNotExist();
        Waits.until("no process of the pool is left", () -> pool().isEmpty());
    }

    private void configure(String... lines) throws IOException {
        Path whole = Files.writeString(directory.resolve("new.cfg"), String.join("\n", lines));
        Files.move(whole, directory.resolve("node/conf/io.waybill.python.cfg"), StandardCopyOption.REPLACE_EXISTING);
    }

    private void configurePool(Path modules, int size, String... more) throws IOException {
        List<String> lines = new ArrayList<>(List.of(more));
        lines.add("interpreter = " + PYTHON);
        lines.add("pool.module = pool_of_the_test");
        lines.add("path = " + modules);
        lines.add("pool.size = " + size);
        configure(lines.toArray(String[]::new));
    }

    private static List<Long> pool() {
        try (Stream<ProcessHandle> all = ProcessHandle.current().children()) {
            return all.filter(ProcessHandle::isAlive)
                    .filter(each -> each.info().commandLine().orElse("").contains("pool_of_the_test"))
                    .map(ProcessHandle::pid)
                    .toList();
        }
    }

    private static Request request(String what, String text) {
        Map<String, Value> fields = Map.of("what", Value.of(what), "text", Value.of(text));
        return Request.invocation(
                TestBroker.SERVER, MessageType.PYTHON_CALL, new Invocation("test:" + what, List.of(), fields));
    }

    /** The text that a call of the pool returns, or its error. */
    private String pooled(String what, String text) {
        try (Response response = broker.caller().call(request(what, text))) {
            return response.value() instanceof Value.Text found ? found.value() : "" + response.value();
        } catch (CallException e) {
            return e.getMessage();
        }
    }

    private static void works(TestProcess process, long exchange) throws Exception {
        process.call(exchange, 0, TestBroker.SERVER, MessageType.NAMED_CALL, new Invocation(BUSY, List.of(), Map.of()));
        assertThat(process.value(process.read("response: the client was disconnected")))
                .isEqualTo(Value.of("done"));
    }

    @Test
    void leaveClientsConnected() throws Exception {
        try (TestProcess process = TestProcess.joined(socket, "py0")) {
            configure("pool.size = 0", "kill.after.ms = 7", "pool.start.ms = 9", "reload = false", "by.value = true");
            Waits.until("the settings are taken over", () -> pooled("echo", "x").contains(OFF));
            works(process, 1);

            configure("pool.size = many");
            configure("pool.size = 257");
            configure("socket = relative");
            configure("pool.size = 0", "kill.after.ms = 8");
            works(process, 2);
            assertThat(pooled("echo", "x")).contains(OFF);
        }
    }

    @Test
    void haveNewClientsConnectElsewhereAndOldOnesStay() throws Exception {
        Path other = directory.resolve("other.sock");
        try (TestProcess first = TestProcess.joined(socket, "py0")) {
            configure("socket = " + other);
            Waits.until("the socket is at its new place alone", () -> Files.exists(other) && !Files.exists(socket));
            works(first, 1);
            try (TestProcess second = TestProcess.joined(other, "py1")) {
                works(second, 1);
                configure("");
                Waits.until("the socket is back", () -> Files.exists(socket) && !Files.exists(other));
                works(first, 2);
                works(second, 2);
                try (TestProcess third = TestProcess.joined(socket, "py2")) {
                    works(third, 1);
                }
            }
        }
    }

    @Test
    void replaceProcessesOfThePoolBehindTheirCalls() throws Exception {
        assumeTrue(Files.isExecutable(PYTHON), "there is no " + PYTHON);
        configurePool(MODULES, 2);
        Waits.until("the pool has its settings", () -> pooled("echo", "x").equals("x"));
        Path copies = Files.createDirectory(directory.resolve("modules"));
        Files.copy(MODULES.resolve("pool_of_the_test.py"), copies.resolve("pool_of_the_test.py"));

        CompletableFuture<Response> busy = broker.caller().callAsync(request("nested", TestBroker.SERVER));
        assertThat(begun.await(100, TimeUnit.SECONDS)).as("a call is begun").isTrue();
        configurePool(copies, 2, "kill.after.ms = 300");
        Waits.until(
                "another process imports from the new path",
                () -> pooled("path", "").contains(copies.toString()));
        assertThat(busy).as("the call of a former process").isNotDone();
        gate.countDown();
        try (Response response = busy.get(100, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("done"));
        }
        Waits.until("the former processes have ended", () -> pool().size() == 1);
        assertThat(pooled("path", "")).contains(copies.toString());

        configurePool(copies, 3, "kill.after.ms = 300");
        Waits.until("three calls run at a time", () -> {
            List<CompletableFuture<Response>> calls = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                calls.add(broker.caller().callAsync(request("sleep", "0.3")));
            }
            for (CompletableFuture<Response> call : calls) {
                call.join().close();
            }
            return pool().size() == 3;
        });
        configurePool(copies, 1, "kill.after.ms = 300");
        Waits.until("one process is left of three that rested", () -> pool().size() == 1);
        assertThat(pooled("echo", "x")).isEqualTo("x");
    }
}
