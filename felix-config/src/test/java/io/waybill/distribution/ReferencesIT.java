package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.distribution.Command.Result;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** References to what libtorch computed in a node of the assembled distribution, held by plain programs. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class ReferencesIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final String COMMAND = DISTRIBUTION.resolve("bin/waybill").toString();
    private static final Duration SOON = Duration.ofSeconds(60);
    private static final int UPDATES = 50;
    private static final int ALIVE = 32;
    private static final String FORKED = "keep::it";
    private static final String FETCHED = "keep::fetch";

    @TempDir
    Path directory;

    private final ConcurrentLinkedQueue<RRef> kept = new ConcurrentLinkedQueue<>();
    private final Map<String, String> environment = new HashMap<>();
    private Command node;
    private Worker user;
    private Worker third;
    private Response two; // [2, 2, 2], an argument of all that is computed

    @BeforeEach
    void startNodeAndUsers() throws IOException, InterruptedException {
        Path path = directory.resolve("home");
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", path.toString());
        node = Command.start(directory, environment, List.of(COMMAND, "node", "--name", "ps0"));
        until("the node is ready", () -> out().startsWith("ready ps0"));
        Host host = Host.real();
        Home home = Home.open(path, host);
        user = join(home, "user-0", new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock()));
        HandlerRegistry handlers = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Provider provider = new Provider("third-program", "1.0");
        handlers.add(HandlerSpec.of(
                new HandlerKey.OfType(MessageType.SCRIPT_CALL),
                this::take,
                provider,
                handlers.newExecutor(provider, ExecutorSettings.forProcessors(2))));
        third = join(home, "third-0", handlers);
        two = user.rpc().rpcSync("ps0", call("aten::full", ints(3), Value.of(2)));
    }

    private static Worker join(Home home, String name, HandlerRegistry handlers) throws IOException {
        Worker worker = Worker.join(home, name, JoinOptions.defaults(), WorkerSettings.defaults(), handlers);
        worker.ready(Map.of());
        return worker;
    }

    @AfterEach
    void stop() throws IOException {
        two.close();
        third.close();
        user.close();
        node.close();
    }

    /** What the third worker does with a reference that it gets. */
    private void take(Message message, Outbox outbox) throws RejectedMessageException {
        Invocation call = message.invocation();
        RRef reference = ((Value.OfRRef) call.positional().get(0)).value();
        if (call.name().equals(FORKED)) {
            kept.add(reference.retain());
            outbox.respond(Value.NONE);
        } else {
            outbox.respond(Value.of(fetch(reference)));
        }
    }

    private String out() {
        try {
            return node.out();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void until(String what, BooleanSupplier isSo) throws IOException {
        long untilNs = System.nanoTime() + SOON.toNanos();
        while (!isSo.getAsBoolean()) {
            assertThat(node.process.isAlive()).as(node.err()).isTrue();
            assertThat(System.nanoTime())
                    .as("in time: %s; %s", what, node.err())
                    .isLessThan(untilNs);
            LockSupport.parkNanos(5_000_000);
        }
    }

    private static Value ints(long... values) {
        List<Value> items = new ArrayList<>();
        for (long value : values) {
            items.add(Value.of(value));
        }
        return new Value.Items(items);
    }

    private static Invocation call(String name, Value... arguments) {
        return new Invocation(name, List.of(arguments), Map.of());
    }

    /** 2 + 2, at ps0. */
    private RRef sum() {
        return user.rpc().remote("ps0", call("aten::add", two.value(), two.value()));
    }

    /** The first element of an {@code int64} tensor. */
    private static long fetch(RRef reference) {
        try (Response fetched = reference.toHere(SOON)) {
            Tensor tensor = ((Value.OfTensor) fetched.value()).value();
            return tensor.storage().bytes(0, Long.BYTES).getLong();
        }
    }

    private void assertNoneIsLeft() throws IOException {
        for (Worker worker : List.of(user, third)) {
            until(
                    worker.info().name() + " has no references left: "
                            + worker.rpc().debugInfo(),
                    () -> worker.rpc().debugInfo().values().stream().allMatch("0"::equals));
        }
        until("ps0 has no references left", () -> {
            Invocation list = new Invocation("rrefs.list", List.of(), Map.of("limit", Value.of(1)));
            try (Response listed = user.call(Request.invocation("ps0", MessageType.CONTROL_CALL, list))) {
                Value.Dict counters = (Value.Dict) listed.value("counters");
                return listed.value("references").equals(new Value.Items(List.of()))
                        && counters.entries().values().stream().allMatch(Value.of(0)::equals);
            }
        });
    }

    private Result waybill(String... args) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(args));
        words.add(0, COMMAND);
        return Command.run(directory, environment, words.toArray(String[]::new));
    }

    private void deployFunctions() throws IOException {
        try (DirectoryStream<Path> workers = Files.newDirectoryStream(directory.resolve("home/workers"), "*-ps0")) {
            Path scripts = workers.iterator().next().resolve("scripts");
            Path hidden = Files.writeString(scripts.resolve(".math.py"), "def triple(x: Tensor):\n    return x * 3\n");
            Files.setPosixFilePermissions(hidden, PosixFilePermissions.fromString("rw-r--r--"));
            Files.move(hidden, hidden.resolveSibling("math.py"), StandardCopyOption.ATOMIC_MOVE);
        }
        until("the function is there", () -> {
            try {
                user.rpc().rpcSync("ps0", call("math.triple", two.value())).close();
                return true;
            } catch (CallException e) {
                assertThat(e.code()).as(e.getMessage()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
                return false;
            }
        });
    }

    @Test
    void leavesResultsOfOperatorsAndFunctionsInTheNodeUntilTheLastHandleCloses() throws Exception {
        deployFunctions();
        try (RRef sum = sum();
                RRef tripled = user.rpc().remote("ps0", call("math.triple", two.value()))) {
            assertThat(fetch(sum)).isEqualTo(4);
            assertThat(fetch(tripled)).isEqualTo(6);
            assertThat(sum.confirmedByOwner()).isTrue();
            user.rpc().rpcSync("third-0", call(FORKED, Value.of(sum))).close();
        }
        try (RRef fork = kept.remove()) {
            Result listed = waybill("rrefs");
            assertThat(listed.exitCode()).as(listed.err()).isZero();
            assertThat(listed.out())
                    .containsPattern("ps0 +owns .* third-0 +completed +0 ")
                    .containsPattern("third-0 +holds .* ps0 +confirmed +1 ");
            assertThat(waybill("rrefs", "--json").out()).contains("\"num_owner_rrefs\" : 1");
            assertThat(fork.owner()).as("ps0").isNotEqualTo(user.info().id());
            assertThat(fetch(fork)).isEqualTo(4);
        }
        assertNoneIsLeft();
        assertThat(waybill("rrefs")).isEqualTo(new Result(0, "", "No worker has references\n"));
    }

    @Test
    void runsTheExampleOfTheBook() throws Exception {
        String line =
                "cd \"$1\" && exec \"$2\" @conf/jvm.options @examples/java.options examples/References.java \"$3\" ps0";
        String java = environment.get("WAYBILL_JAVA");
        String home = environment.get("WAYBILL_HOME");

        Result result =
                Command.run(directory, environment, "bash", "-c", line, "-", DISTRIBUTION.toString(), java, home);

        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out().lines())
                .containsExactly(
                        "10 is twice 5",
                        "{num_owner_rrefs=0, num_forks=0, num_pending_users=0, num_pending_futures=0}");
        assertThat(DISTRIBUTION.resolve("examples/References.java")).content().hasLineCount(31);
        assertNoneIsLeft();
    }

    @Test
    void failsEveryUseOfAReferenceWhoseOperatorFailed() throws IOException {
        try (RRef failed = user.rpc().remote("ps0", call("aten::add", two.value(), ints(1)))) {
            assertThat(catchThrowableOfType(
                            CallException.class, () -> failed.toHere(SOON).close()))
                    .hasMessageContaining("aten::add");
        }
        assertNoneIsLeft();
    }

    @Test
    void keepsEveryReferenceWhileScriptOpsIsUpdatedUnderLoad() throws IOException {
        List<RRef> early = new ArrayList<>();
        for (int i = 0; i < ALIVE; i++) {
            early.add(sum());
        }
        try (Traffic first = new Traffic();
                Traffic second = new Traffic()) {
            for (int update = 1; update <= UPDATES; update++) {
                long before = first.created + second.created;
                updateScriptOps("0.2." + update);
                until(
                        "references are created after update " + update,
                        () -> first.created + second.created > before + 2 || first.hasFailed() || second.hasFailed());
            }
        }
        for (RRef reference : early) {
            assertThat(fetch(reference)).isEqualTo(4);
            reference.close();
        }
        assertNoneIsLeft();
    }

    private void updateScriptOps(String version) throws IOException {
        Path jar = directory.resolve("script-ops-" + version + ".jar");
        try (DirectoryStream<Path> jars =
                Files.newDirectoryStream(DISTRIBUTION.resolve("bundles/10"), "script-ops-*.jar")) {
            BundleMaker.writeOtherVersion(jars.iterator().next(), version, jar);
        }
        Invocation update = new Invocation("bundle.update", List.of(), Map.of("path", Value.of(jar.toString())));
        try (Response updated = user.call(
                Request.invocation("ps0", MessageType.CONTROL_CALL, update).timeout(SOON))) {
            assertThat(updated.value("bundle").toString()).contains(version).contains("ACTIVE");
        }
    }

    /** Creates references, forks some of them, and fetches each when it is created and before it is released, a while later. */
    private final class Traffic implements AutoCloseable {
        volatile long created; // written by the thread, read by the test
        private volatile RuntimeException failure; // written by the thread, read by the test
        private volatile boolean ended; // written by the test, read by the thread
        private final Deque<RRef> alive = new ArrayDeque<>();
        private final Thread thread = new Thread(this::run, "traffic");

        Traffic() {
            thread.start();
        }

        boolean hasFailed() {
            return failure != null;
        }

        private void run() {
            try {
                while (!ended) {
                    RRef reference = sum();
                    alive.add(reference);
                    requireFour(fetch(reference));
                    try (Response fetched = user.rpc().rpcSync("third-0", call(FETCHED, Value.of(reference)))) {
                        requireFour(((Value.Int) fetched.value()).value());
                    }
                    created = created + 1;
                    releaseDownTo(ALIVE);
                }
                releaseDownTo(0);
            } catch (RuntimeException e) {
                failure = e;
            }
        }

        private void releaseDownTo(int left) {
            while (alive.size() > left) {
                try (RRef oldest = alive.remove()) {
                    requireFour(fetch(oldest));
                }
            }
        }

        private void requireFour(long found) {
            if (found != 4) {
                throw new IllegalStateException("2 + 2 is " + found);
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
            assertThat(failure).isNull();
        }
    }
}
