package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.journal.CallRecord;
import io.waybill.host.Host;
import io.waybill.osgi.jar.ShippedBundles;
import io.waybill.query.MessageFilter;
import io.waybill.replay.NodeDistribution;
import io.waybill.replay.Replay;
import io.waybill.testing.TestBroker;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Functions in the pool of a node: what they do to their process costs their own call. The processes run a small module of the test. */
@Timeout(300)
class PoolTest {

    private static final Path PYTHON = Path.of("/usr/bin/python3");
    private static final int SIZE = 2;

    @TempDir
    private Path directory;

    private TestBroker broker;

    @BeforeEach
    void start() throws IOException {
        assumeTrue(Files.isExecutable(PYTHON), "there is no " + PYTHON);
        broker = TestBroker.start(directory, Path.of("target/classes"));
        configure("interpreter = " + PYTHON, "kill.after.ms = 200");
    }

    private void configure(String... lines) throws IOException {
        write(lines);
        Waits.until("the pool has its settings", () -> problem().isEmpty()); // other ones are of the pool before
    }

    /** Why a call fails; empty text when it does not. */
    private String problem() {
        try {
            call("echo", "ready").close();
            return "";
        } catch (CallException e) {
            return e.getMessage();
        }
    }

    private void write(String... lines) throws IOException {
        List<String> all = new ArrayList<>(List.of(lines));
        all.add("path = " + Path.of("src/test/python").toAbsolutePath());
        all.add("pool.module = pool_of_the_test");
        all.add("pool.size = " + SIZE);
        Path whole = Files.writeString(directory.resolve("new.cfg"), String.join("\n", all));
        Files.move(whole, directory.resolve("node/conf/io.waybill.python.cfg"), StandardCopyOption.REPLACE_EXISTING);
    }

    @AfterEach
    void stop() throws IOException {
        if (broker != null) {
            broker.close();
            Waits.until("no process is left", () -> children().isEmpty());
        }
    }

    private static List<Long> children() {
        try (Stream<ProcessHandle> all = ProcessHandle.current().children()) {
            return all.filter(ProcessHandle::isAlive)
                    .filter(each -> each.info().commandLine().orElse("").contains("pool_of_the_test"))
                    .map(ProcessHandle::pid)
                    .toList();
        }
    }

    private Request request(String what, String text) {
        Map<String, Value> fields = Map.of("what", Value.of(what), "text", Value.of(text));
        return Request.invocation(
                TestBroker.SERVER, MessageType.PYTHON_CALL, new Invocation("test:" + what, List.of(), fields));
    }

    private Response call(String what, String text) {
        return broker.caller().call(request(what, text));
    }

    private CallException failure(Request request) {
        CallException failed = catchThrowableOfType(
                CallException.class, () -> broker.caller().call(request).close());
        assertThat(failed).as("the failure").isNotNull();
        return failed;
    }

    private void works(String text) {
        try (Response response = call("echo", text)) {
            assertThat(response.type()).isEqualTo(MessageType.PYTHON_RET);
            assertThat(response.value()).isEqualTo(Value.of(text));
        }
    }

    @Test
    void costOnlyTheirOwnCallWhenTheirProcessEnds() {
        for (int i = 0; i < 3; i++) {
            CallException exited = failure(request("exit", "7"));
            assertThat(exited.code()).isEqualTo(ErrorCode.WORKER_LOST);
            assertThat(exited).hasMessageContaining("exit code 7").hasMessageContaining("ends now");
            CallException killed = failure(request("kill", "9"));
            assertThat(killed.code()).isEqualTo(ErrorCode.WORKER_LOST);
            assertThat(killed).hasMessageContaining("signal 9");
            works("after " + i);
        }
    }

    @Test
    void quoteNoLineOfAnEarlierCall() {
        call("print", "a line of an earlier call").close();
        for (int i = 0; i < 10; i++) { // until the line was read
            works("call " + i);
        }
        assertThat(failure(request("kill", "9")))
                .hasMessageContaining("signal 9")
                .hasMessageNotContaining("line");
        assertThat(failure(request("exit", "7"))).hasMessageContaining("its last line: ends now");
    }

    @Test
    void importNothingFromTheNodesCurrentDirectory() {
        try (Response response = call("path", "")) {
            assertThat(((Value.Text) response.value()).value().split("\n"))
                    .as("where modules are imported from")
                    .contains(Path.of("src/test/python").toAbsolutePath().toString())
                    .doesNotContain("", ".", Path.of("").toAbsolutePath().toString());
        }
    }

    @Test
    void saysWhyNoProcessCanBeStarted() throws IOException {
        write("interpreter = /nowhere/python");
        Waits.until(
                "the call says which interpreter is not there",
                () -> problem().contains("no Python process can be started: interpreter /nowhere/python: "));
        assertThat(problem()).contains("set interpreter in io.waybill.python.cfg");
    }

    @Test
    void endWithTheirProcessAtTheDeadline() {
        works("before");
        for (int i = 0; i < SIZE + 1; i++) { // more than there are processes
            CallException late = failure(request("hang", "").timeout(Duration.ofMillis(500)));
            assertThat(late.code()).isEqualTo(ErrorCode.TIMED_OUT);
        }
        works("after");
        Waits.until("the processes that hang are killed", () -> children().size() <= SIZE);
    }

    @Test
    void leaveNoLoaderBehindWhenTheBundleIsUpdated() throws Exception {
        broker.upgradeUnderTraffic(
                () -> request("echo", "text"), response -> response.value().equals(Value.of("text")));
        works("after");
        broker.assertNoLoaderLeaked();
    }

    @Test
    void waitForAProcessWhileAllAreBusy() throws Exception {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            calls.add(broker.caller().callAsync(request("sleep", "0.01")));
        }
        for (CompletableFuture<Response> call : calls) {
            call.get(120, TimeUnit.SECONDS).close();
        }
        assertThat(children()).hasSizeLessThanOrEqualTo(SIZE);
    }

    @Test
    void callOnBehalfOfTheirRequest() throws Exception {
        broker.handle(
                TestBroker.SERVER, "test.parent", (message, outbox) -> outbox.respond(Value.of(message.parentId())));
        try (Response response = call("nested", TestBroker.SERVER)) {
            assertThat(response.value()).isEqualTo(Value.of(response.id()));
        }
    }

    @Test
    void passTensorsThroughSharedMemory() throws Exception {
        try (Response response = call("large", "1000000")) {
            assertThat(response.tensors()).hasSize(1);
            assertThat(response.tensors().get(0).sizes()).containsExactly(1_000_000);
            assertThat(response.tensors().get(0).storage().bytes(999_999, 1).get())
                    .isEqualTo((byte) (999_999 % 251));
            Value back = Value.of(response.tensors().get(0));
            Invocation sum = new Invocation(
                    "test:sum", List.of(), Map.of("what", Value.of("sum"), "text", Value.of(""), "tensor", back));
            try (Response summed =
                    broker.caller().call(Request.invocation(TestBroker.SERVER, MessageType.PYTHON_CALL, sum))) {
                long expected = 0;
                for (int i = 0; i < 1_000_000; i++) {
                    expected += i % 251;
                }
                assertThat(summed.value()).isEqualTo(Value.of(expected));
            }
        }
    }

    @Test
    void runAgainInAReplay() throws Exception {
        broker.handle(TestBroker.SERVER, "test.parent", (message, outbox) -> outbox.respond(Value.of("recorded")));
        works("one");
        works("two");
        call("nested", TestBroker.SERVER).close();
        List<String> results = new ArrayList<>();
        NodeDistribution node = new NodeDistribution(
                directory.resolve("node/system"),
                ShippedBundles.ALL,
                Optional.of(directory.resolve("node/conf")),
                Map.of());
        Replay.of(broker.home())
                .on(Host.real())
                .in(node)
                .with(jar())
                .select(new MessageFilter.Builder()
                        .operation("test:*")
                        .outcome(CallRecord.Outcome.OK)
                        .build())
                .run(call -> call.results()
                        .forEach(result ->
                                results.add(call.operation() + " " + result.verdict() + " " + result.reason())));
        assertThat(results).contains("test:echo SAME ", "test:nested SAME ");
        assertThat(results).allMatch(each -> each.endsWith(" SAME "));
    }

    private Path jar() throws IOException {
        try (Stream<Path> found = Files.find(
                directory, 3, (path, is) -> path.getFileName().toString().startsWith("bundle-"))) {
            return found.findFirst().orElseThrow();
        }
    }

    @Test
    void areDisconnectedWhenTheyLieAboutARegion() {
        CallException lied = failure(request("lie", ""));
        assertThat(lied.code()).isEqualTo(ErrorCode.WORKER_LOST);
        assertThat(lied).hasMessageContaining("region file");
        CallException twice = failure(request("twice", ""));
        assertThat(twice.code()).isEqualTo(ErrorCode.WORKER_LOST);
        assertThat(twice).hasMessageContaining("in no other storage");
        works("after");
    }
}
