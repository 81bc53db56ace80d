package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.distribution.Command.Result;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every kind of bad bundle in one real node. Whatever a test did to the node, it and its other handlers go on afterwards, and in the end
 * it leaves in order.
 */
@Tag("ci")
@Timeout(value = 600, unit = TimeUnit.SECONDS)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BadBundlesIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final int MAX_STUCK = 2;
    private static final String HANG =
            "while (true) { Thread.interrupted(); java.util.concurrent.locks.LockSupport.park(); }";

    private final Map<String, String> environment = new HashMap<>();
    private Path directory;
    private BundleMaker maker;
    private Command node;
    private Worker caller; // a call of it takes a thousandth of the time of the command's

    @BeforeAll
    void startNode(@TempDir Path given) throws IOException, InterruptedException {
        directory = given;
        maker = new BundleMaker(Files.createDirectory(directory.resolve("jars")), DISTRIBUTION.resolve("lib"));
        Path user = Files.createDirectory(directory.resolve("user"));
        Path conf = Files.createDirectory(directory.resolve("conf"));
        Files.writeString(conf.resolve("waybill.properties"), """
                handler.stuck-after = 100ms
                handler.max-stuck = %d
                osgi.drain-limit = 300ms
                osgi.start-limit = 3s
                """.formatted(MAX_STUCK));
        environment.putAll(Command.environment(user));
        environment.merge("WAYBILL_JAVA_OPTS", " -Xmx192m", String::concat);
        environment.put("WAYBILL_HOME", directory.resolve("waybill-home").toString());
        node = Command.start(
                directory, environment, List.of(words("node", "--name", "ps0", "--conf", conf.toString())));
        eventually("the node is ready", () -> node.out().startsWith("ready ps0 id="));
        caller = Waybill.connect(Path.of(environment.get("WAYBILL_HOME")), "caller")
                .join();
        install(maker.bundle("org.acme.good", "good.blocking").build());
        install(maker.bundle("org.acme.good2", "good.now").nonBlocking().build());
    }

    @AfterEach
    void theNodeAndItsOtherHandlersGoOn() throws IOException, InterruptedException {
        for (String operation : List.of("good.blocking", "good.now")) {
            try (Response response = caller.call(request(operation))) {
                assertThat(response.value()).as(operation).isEqualTo(Value.of("on"));
            }
        }
        assertThat(node.process.isAlive()).as(node.err()).isTrue();
    }

    @AfterAll
    void theNodeLeavesInOrder() throws IOException, InterruptedException {
        caller.close();
        try (Command leaving = node) {
            assertThat(waybill("workers").out())
                    .contains("ps0")
                    .contains("alive")
                    .contains("good.now");
            leaving.process.destroy();
            assertThat(leaving.await().exitCode()).as(leaving.err()).isZero();
        }
    }

    private static String[] words(String... args) {
        List<String> words =
                new ArrayList<>(List.of(DISTRIBUTION.resolve("bin/waybill").toString()));
        words.addAll(Arrays.asList(args));
        return words.toArray(String[]::new);
    }

    private Result waybill(String... args) throws IOException, InterruptedException {
        return Command.run(directory, environment, words(args));
    }

    private Result call(String operation, String timeout) throws IOException, InterruptedException {
        return waybill("call", "--to", "ps0", "--timeout", timeout, operation);
    }

    private void install(Path jar) throws IOException, InterruptedException {
        Result installed = waybill("bundle", "install", "--node", "ps0", jar.toString());
        assertThat(installed.exitCode()).as(installed.err()).isZero();
    }

    private void assertResponded(String operation, String response) throws IOException, InterruptedException {
        Result result = call(operation, "20s");
        assertThat(result.out()).as(operation + ": " + result.err()).isEqualTo("'" + response + "'\n");
    }

    private void assertFails(Result result, String... texts) {
        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err()).hasLineCount(1).contains(texts);
    }

    private void assertNotInstalled(Path jar, String... texts) throws IOException, InterruptedException {
        assertFails(waybill("bundle", "install", "--node", "ps0", jar.toString()), texts);
    }

    private interface Condition {
        boolean holds() throws IOException, InterruptedException;
    }

    private void eventually(String what, Condition condition) throws IOException, InterruptedException {
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.holds()) {
            assertThat(node.process.isAlive()).as(node.err()).isTrue();
            assertThat(System.nanoTime())
                    .as("in time: %s: %s", what, node.err())
                    .isLessThan(untilNs);
            LockSupport.parkNanos(20_000_000);
        }
    }

    private static Request request(String operation) {
        return Request.operation("ps0", operation).timeout(Duration.ofSeconds(20));
    }

    /** By the command, whose start takes longer than it takes to mark the call before it as stuck: so their number is known. */
    private Result awaitOutOfService(String operation) throws IOException, InterruptedException {
        Result[] last = new Result[1];
        eventually(operation + " is out of service", () -> {
            last[0] = call(operation, "300ms");
            return last[0].err().contains("out of service");
        });
        return last[0];
    }

    @Test
    void aJarThatIsNoBundle() throws IOException, InterruptedException {
        Path text = Files.writeString(directory.resolve("text.jar"), "no jar at all");
        assertNotInstalled(text, text.toString());
        Path nameless = maker.bundle("", "bad.nameless").build();
        assertNotInstalled(nameless, "Bundle-SymbolicName");
    }

    @Test
    void aBundleThatDoesNotResolve() throws IOException, InterruptedException {
        assertNotInstalled(
                maker.bundle("org.acme.unresolved", "bad.unresolved")
                        .header(
                                "Import-Package",
                                "io.waybill.api,io.waybill.api.handler,com.example.none;version=\"[2,3)\"")
                        .build(),
                "org.acme.unresolved 1.0.0 does not resolve",
                "com.example.none");
    }

    @Test
    void aBundleThatThrowsOnStart() throws IOException, InterruptedException {
        assertNotInstalled(
                maker.bundle("org.acme.throws", "bad.throws")
                        .start("throw new IllegalStateException(\"no licence\");")
                        .build(),
                "no licence");
    }

    @Test
    void aBundleThatDoesNotComeBackFromItsStart() throws IOException, InterruptedException {
        assertNotInstalled(
                maker.bundle("org.acme.starts", "bad.starts").start(HANG).build(), "did not start within 3000 ms");
    }

    @Test
    void aHandlerThatNeverReturns() throws IOException, InterruptedException {
        outOfServiceUntilItIsUpdated(maker.bundle("org.acme.hangs", "bad.hangs").body(HANG));
    }

    @Test
    void aNonBlockingHandlerThatNeverReturns() throws IOException, InterruptedException {
        outOfServiceUntilItIsUpdated(
                maker.bundle("org.acme.spins", "bad.spins").nonBlocking().body(HANG));
    }

    private void outOfServiceUntilItIsUpdated(BundleMaker.Draft hanging) throws IOException, InterruptedException {
        Path jar = hanging.build();
        String name = jar.getFileName().toString().replace("-1.0.0.jar", "");
        String operation = name.replace("org.acme.", "bad.");
        install(jar);

        assertFails(call(operation, "300ms"), "RPC ran for more than set timeout (300 ms)");
        assertFails(awaitOutOfService(operation), name + " 1.0.0 is out of service for " + operation);
        assertThat(waybill("workers").out()).contains("(stuck: " + operation + ")");
        assertThat(waybill("bundle", "list", "--node", "ps0", "--handlers").out())
                .containsPattern(operation + " +stuck +" + name);
        assertThat(waybill("bundle", "list", "--node", "ps0").out())
                .containsPattern(name + " +1\\.0\\.0 +handler +active +\\S+ \\S+ +- +\\d+ +\\d+ +" + MAX_STUCK);
        assertThat(node.err()).contains("does not come back from " + operation).contains("at bad.Handler.handle(");

        Path fixed = maker.bundle(name, operation).version("2.0.0").build();
        Result updated = waybill("bundle", "update", "--node", "ps0", fixed.toString());
        assertThat(updated).isEqualTo(new Result(0, name + " 2.0.0 active, in place of 1.0.0\n", ""));
        assertResponded(operation, "on");
        assertThat(waybill("workers").out()).doesNotContain("stuck");
    }

    @Test
    void aHandlerThatTakesAllMemory() throws IOException, InterruptedException {
        install(maker.bundle("org.acme.hoards", "bad.hoards").body("""
                        java.util.List<byte[]> hoard = new java.util.ArrayList<>();
                        while (true) {
                            hoard.add(new byte[1 << 20]);
                        }
                        """).build());

        for (int i = 0; i < 3; i++) {
            assertFails(call("bad.hoards", "30s"), "OutOfMemoryError");
        }
    }

    @Test
    void aHandlerThatEndsTheProcess() throws IOException, InterruptedException {
        install(maker.bundle("org.acme.exits", "bad.exits")
                .body("System.exit(3);")
                .build());

        assertFails(call("bad.exits", "20s"), "a bundle may not end the process");
    }
}
