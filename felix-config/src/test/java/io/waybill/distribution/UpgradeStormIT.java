package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.core.Seeds;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A node whose bundle is installed, updated, stopped, started and uninstalled by three programs and by its watched directory at the same time,
 * while it is called, and killed in the middle of that again and again.
 */
@Tag("ci")
@Timeout(value = 3600, unit = TimeUnit.SECONDS)
class UpgradeStormIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final int RESTARTS = Integer.getInteger("waybill.storm.restarts", 6);
    private static final String NAME = "org.acme.storm";
    private static final String OPERATION = "storm.run";
    private static final int VERSIONS = 4;
    private static final int COMMANDERS = 3;
    private static final int MAX_IN_FLIGHT = 64;
    private static final Duration CALL_LIMIT = Duration.ofSeconds(20);

    private final Map<String, String> environment = new HashMap<>();
    private final List<Path> jars = new ArrayList<>();
    private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
    private final Map<String, AtomicInteger> outcomesOfCommands = new ConcurrentHashMap<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isStormy; // set by the test's thread, read by the storm's
    private Random random;
    private Path directory;
    private Path watched;
    private Command node;
    private Worker caller;

    @BeforeEach
    void prepare(@TempDir Path given) throws IOException, InterruptedException {
        random = Seeds.random();
        directory = given;
        BundleMaker maker =
                new BundleMaker(Files.createDirectory(directory.resolve("jars")), DISTRIBUTION.resolve("lib"));
        for (int version = 1; version <= VERSIONS; version++) {
            jars.add(maker.bundle(NAME, OPERATION)
                    .version(version + ".0.0")
                    .body("""
                            String line = message.int64("n") + " %d\\n";
                            try {
                                java.nio.file.Files.writeString(
                                        java.nio.file.Path.of(System.getenv("STORM_TALLY")),
                                        line,
                                        java.nio.file.StandardOpenOption.CREATE,
                                        java.nio.file.StandardOpenOption.APPEND);
                            } catch (java.io.IOException e) {
                                throw new java.io.UncheckedIOException(e);
                            }
                            outbox.respond(Value.of(%dL));
                            """.formatted(version, version))
                    .build());
        }
        watched = Files.createDirectory(directory.resolve("watched"));
        environment.putAll(Command.environment(Files.createDirectory(directory.resolve("user"))));
        environment.merge("WAYBILL_JAVA_OPTS", " -Xmx192m", String::concat);
        environment.put("WAYBILL_HOME", directory.resolve("waybill-home").toString());
        environment.put("STORM_TALLY", directory.resolve("tally").toString());
        startNode();
        caller = Waybill.connect(Path.of(environment.get("WAYBILL_HOME")), "caller")
                .join();
    }

    @AfterEach
    void end() throws IOException, InterruptedException {
        isStormy = false;
        for (Thread thread : threads) {
            thread.join(TimeUnit.MINUTES.toMillis(2));
        }
        if (caller != null) {
            caller.close();
        }
        if (node != null) {
            node.close();
        }
    }

    private void startNode() throws IOException, InterruptedException {
        List<String> words = List.of(
                DISTRIBUTION.resolve("bin/waybill").toString(),
                "node",
                "--name",
                "ps0",
                "--shipped",
                "none",
                "--bundles",
                watched.toString());
        node = Command.start(directory, environment, List.of(words.toArray(String[]::new)));
        eventually("the node is ready", () -> node.out().startsWith("ready ps0 id="));
    }

    /** A kill may hit it at any time; nothing that it left must keep the next incarnation from its start. */
    private void killNode() throws InterruptedException {
        node.process.destroyForcibly().waitFor();
        node.close();
    }

    private interface Condition {
        boolean holds() throws IOException, InterruptedException;
    }

    private void eventually(String what, Condition condition) throws IOException, InterruptedException {
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
        while (!condition.holds()) {
            assertThat(node.process.isAlive()).as("%s: %s", what, node.err()).isTrue();
            assertThat(System.nanoTime())
                    .as("in time: %s: %s", what, node.err())
                    .isLessThan(untilNs);
            LockSupport.parkNanos(20_000_000);
        }
    }

    private void startThread(String name, Runnable step) {
        Thread thread = new Thread(
                () -> {
                    while (isStormy) {
                        step.run();
                    }
                },
                name);
        threads.add(thread);
        thread.start();
    }

    private void beginStorm(Traffic traffic) {
        isStormy = true;
        for (int i = 0; i < COMMANDERS; i++) {
            Random own = new Random(random.nextLong());
            startThread("commander-" + i, () -> command(own));
        }
        Random own = new Random(random.nextLong());
        startThread("dropper", () -> drop(own));
        startThread("traffic", traffic::send);
    }

    private void endStorm() throws InterruptedException {
        isStormy = false;
        for (Thread thread : threads) {
            thread.join(TimeUnit.MINUTES.toMillis(2));
            assertThat(thread.isAlive()).as(thread.getName() + " ended").isFalse();
        }
        threads.clear();
    }

    private static Request control(String operation, Map<String, Value> fields) {
        return Request.invocation("ps0", MessageType.CONTROL_CALL, new Invocation(operation, List.of(), fields))
                .timeout(CALL_LIMIT);
    }

    private Path anyJar(Random own) {
        return jars.get(own.nextInt(jars.size()));
    }

    private void command(Random own) {
        String operation = List.of("install", "install", "update", "update", "stop", "start", "uninstall")
                .get(own.nextInt(7));
        Map<String, Value> fields = operation.equals("install") || operation.equals("update")
                ? Map.of("path", Value.of(anyJar(own).toString()))
                : Map.of("name", Value.of(NAME));
        String outcome = "ok";
        try (Response response = caller.call(control("bundle." + operation, fields))) {
            assertThat(response.value("bundle")).isNotNull();
        } catch (CallException e) {
            outcome = e.code().toString();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20)); // the node may be away
        }
        outcomesOfCommands
                .computeIfAbsent(operation + " " + outcome, key -> new AtomicInteger())
                .incrementAndGet();
    }

    private void drop(Random own) {
        Path file = watched.resolve((char) ('a' + own.nextInt(3)) + ".jar");
        try {
            if (own.nextInt(3) == 0) {
                Files.deleteIfExists(file);
            } else {
                Path hidden = watched.resolve(".coming");
                Files.copy(anyJar(own), hidden, StandardCopyOption.REPLACE_EXISTING);
                Files.move(hidden, file, StandardCopyOption.ATOMIC_MOVE);
            }
        } catch (NoSuchFileException e) {
            wrong.add("dropping: " + e);
        } catch (IOException e) {
            wrong.add("dropping: " + e.getMessage());
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100 + own.nextInt(900)));
    }

    /** Calls, each with its outcome. */
    private final class Traffic {
        private final Semaphore room = new Semaphore(MAX_IN_FLIGHT);
        private final AtomicInteger sent = new AtomicInteger();
        private final Map<Integer, Long> versions =
                new ConcurrentHashMap<>(); // by number, of those that were responded to
        private final Map<Integer, AtomicInteger> outcomes = new ConcurrentHashMap<>();
        private final EnumMap<ErrorCode, Integer> failures = new EnumMap<>(ErrorCode.class); // guarded by itself

        void send() {
            room.acquireUninterruptibly();
            int n = sent.incrementAndGet();
            outcomes.put(n, new AtomicInteger());
            Invocation run = new Invocation(OPERATION, List.of(), Map.of("n", Value.of((long) n)));
            CompletableFuture<Response> outcome;
            try {
                outcome = caller.callAsync(
                        Request.invocation("ps0", MessageType.NAMED_CALL, run).timeout(CALL_LIMIT));
            } catch (CallException e) {
                outcome = CompletableFuture.failedFuture(e);
            }
            outcome.whenComplete((response, failure) -> {
                outcomes.get(n).incrementAndGet();
                if (failure == null) {
                    versions.put(n, ((Value.Int) response.value()).value());
                    response.close();
                } else {
                    count(n, failure);
                }
                room.release();
            });
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }

        private void count(int n, Throwable failure) {
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            if (cause instanceof CallException call) {
                synchronized (failures) {
                    failures.merge(call.code(), 1, Integer::sum);
                }
            } else {
                wrong.add("call " + n + ": " + cause);
            }
        }

        void awaitAll() throws IOException, InterruptedException {
            eventually("each call has an outcome", () -> room.availablePermits() == MAX_IN_FLIGHT);
        }

        void check() throws IOException {
            Map<Integer, List<Long>> runs = new HashMap<>();
            for (String line : Files.readAllLines(directory.resolve("tally"))) {
                String[] words = line.split(" ");
                runs.computeIfAbsent(Integer.valueOf(words[0]), n -> new ArrayList<>())
                        .add(Long.valueOf(words[1]));
            }
            assertThat(outcomes)
                    .hasSize(sent.get())
                    .allSatisfy((n, count) ->
                            assertThat(count).as("outcomes of call %d", n).hasValue(1));
            assertThat(runs)
                    .allSatisfy((n, versionsThatRan) ->
                            assertThat(versionsThatRan).as("runs of call %d", n).hasSize(1));
            assertThat(versions)
                    .allSatisfy((n, version) -> assertThat(runs.get(n))
                            .as("the run of call %d, which responded", n)
                            .containsExactly(version));
            System.out.println(RESTARTS + " restarts; calls " + sent + ", responded " + versions.size() + ", failed "
                    + failures + ", handler runs " + runs.size() + "; commands " + outcomesOfCommands);
            assertThat(versions).as("some calls were served").isNotEmpty();
        }
    }

    private List<Map<Value, Value>> listed(String operation, String list) {
        try (Response response = caller.call(control(operation, Map.of()))) {
            return ((Value.Items) response.value(list))
                    .values().stream()
                            .map(each -> ((Value.Dict) each).entries())
                            .toList();
        }
    }

    private void assertOneVersion() {
        assertThat(listed("bundle.list", "bundles"))
                .filteredOn(bundle -> bundle.get(Value.of("name")).equals(Value.of(NAME)))
                .hasSizeLessThanOrEqualTo(1);
        assertThat(listed("handlers.list", "handlers"))
                .filteredOn(handler -> handler.get(Value.of("key")).equals(Value.of(OPERATION)))
                .filteredOn(handler -> handler.get(Value.of("state")).equals(Value.of("SERVING")))
                .hasSizeLessThanOrEqualTo(1);
    }

    private void assertServes(int version) throws IOException, InterruptedException {
        eventually("version " + version + " serves alone", () -> {
            List<Map<Value, Value>> serving = listed("handlers.list", "handlers").stream()
                    .filter(handler -> handler.get(Value.of("key")).equals(Value.of(OPERATION)))
                    .filter(handler -> !handler.get(Value.of("state")).equals(Value.of("DRAINING")))
                    .toList();
            return serving.size() == 1
                    && serving.get(0).get(Value.of("version")).equals(Value.of(version + ".0.0"))
                    && serving.get(0).get(Value.of("state")).equals(Value.of("SERVING"));
        });
    }

    @Test
    void startsEachTimeAndOneVersionServes() throws Exception {
        Traffic traffic = new Traffic();
        for (int restart = 1; restart <= RESTARTS; restart++) {
            beginStorm(traffic);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500 + random.nextInt(3000)));
            assertOneVersion();
            if (restart % 2
                    == 0) { // in the middle of it: the storm goes on while the node is away, and while it starts
                killNode();
                startNode();
                assertOneVersion();
                endStorm();
            } else { // just after an operation was acknowledged
                endStorm();
                int version = 1 + random.nextInt(VERSIONS);
                install(version);
                killNode();
                startNode();
                assertServes(version);
            }
            assertThat(wrong).isEmpty();
        }
        traffic.awaitAll();
        install(VERSIONS);
        startStopped();
        assertServes(VERSIONS);
        traffic.check();
        node.process.destroy();
        assertThat(node.await().exitCode()).as(node.err()).isZero();
    }

    /** Starts the bundle if the last command of the storm has stopped it: an install then leaves it stopped. */
    private void startStopped() {
        caller.call(control("bundle.start", Map.of("name", Value.of(NAME)))).close();
    }

    private void install(int version) {
        Path jar = jars.get(version - 1);
        try (Response response = caller.call(control("bundle.install", Map.of("path", Value.of(jar.toString()))))) {
            Map<Value, Value> bundle = ((Value.Dict) response.value("bundle")).entries();
            assertThat(bundle.get(Value.of("version"))).isEqualTo(Value.of(version + ".0.0"));
        }
    }
}
