package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.device.ConvertsDevice;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.api.handler.Delivery;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.policy.Decision;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolRun;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Programs without OSGi that join a home with extensions. */
@Timeout(180)
class WaybillTest {

    private static final Path PROGRAM = Path.of("../../examples/caller/Caller.java");
    private static final List<String> FLAGS = ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
            .filter(flag -> flag.startsWith("--add-"))
            .toList();

    @TempDir
    Path directory;

    private Path home;

    @BeforeEach
    void placeHome() {
        home = directory.resolve("home");
    }

    /** A component as a bundle has it: a handler that counts its requests for the whole worker. */
    @HandlesMessage({"text.count", "text.words"})
    @NonBlocking
    @Delivery(Delivery.AT_LEAST_ONCE)
    private static final class Count implements MessageHandler {
        private final Broker broker;

        Count(Broker broker) {
            this.broker = broker;
        }

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            broker.counter("counted").increment();
            outbox.response().int64("words", message.text("text").split(" ").length);
        }
    }

    /** Refuses on both sides of a call. */
    @InterceptsMessage("text.*")
    private static final class Refusal implements CallInterceptor, HandlerInterceptor {
        int calls;

        @Override
        public void onRequest(OutgoingCall call) throws RejectedMessageException {
            if (++calls > 1) {
                throw new RejectedMessageException(ErrorCode.REFUSED, "one call is enough");
            }
        }

        @Override
        public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
            throw new RejectedMessageException(ErrorCode.REFUSED, "closed today");
        }
    }

    /** A converter without a device. */
    @ConvertsDevice("toy")
    private static final class Toy implements DeviceConverter {
        @Override
        public Optional<String> unavailable() {
            return Optional.of("no toys here");
        }

        @Override
        public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
            return Optional.empty();
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            return arrived;
        }
    }

    private static Request count(String text) {
        Request request = Request.operation("server", "text.count");
        request.body().text("text", text);
        return request;
    }

    @Test
    void addsListenersAndCommands() throws Exception {
        AtomicInteger responses = new AtomicInteger();
        CallEvents counting = event -> {
            if (event.kind() == CallEvent.Kind.RESPONDED && event.operation().equals("text.count")) {
                responses.incrementAndGet();
            }
        };
        ToolCommand command = new ToolCommand() {
            @Override
            public ToolDescription description() {
                return ToolDescription.of("responses", "Shows the number of responses.");
            }

            @Override
            public void run(ToolRun run) {
                run.line("" + responses);
            }
        };
        try (Worker server = Waybill.connect(home, "server")
                        .with("text.count", (message, outbox) -> outbox.respond(Value.of(1)))
                        .with(counting)
                        .with(command)
                        .join();
                Worker client = Waybill.connect(home, "client").join()) {
            client.call(Request.operation("server", "text.count")).close();
            Waits.until("the response is counted", () -> responses.get() == 1);
            Invocation run = new Invocation(
                    "tools.run",
                    List.of(),
                    Map.of("name", Value.of("responses"), "words", Value.list(), "json", Value.of(false)));
            Value number;
            try (Response begun = client.call(Request.invocation("server", MessageType.CONTROL_CALL, run))) {
                number = begun.value("run");
            }
            Invocation read = new Invocation("tools.read", List.of(), Map.of("run", number));
            try (Response output = client.call(Request.invocation("server", MessageType.CONTROL_CALL, read))) {
                assertThat(output.value("items")).isEqualTo(Value.list(Value.of("1")));
            }
            assertThat(server.events().isEmpty()).isFalse();
        }
    }

    @Test
    void servesWithTheComponentsOfABundle() throws IOException {
        try (Worker server =
                        Waybill.connect(home, "server").withBroker(Count::new).join();
                Worker client = Waybill.connect(home, "client").join();
                Response response = client.call(count("to be or"))) {
            assertThat(response.int64("words")).isEqualTo(3);
            assertThat(server.broker().counter("counted").sum()).isEqualTo(1);
            assertThat(server.parts.registry.statuses())
                    .filteredOn(status -> status.key().text().startsWith("text."))
                    .hasSize(2)
                    .allMatch(HandlerStatus::nonBlocking)
                    .allMatch(status -> status.delivery() == DeliveryPolicy.AT_LEAST_ONCE)
                    .allMatch(status -> status.provider().name().equals(Count.class.getName()));
        }
    }

    @Test
    void handlersMayThrowAnyException() throws IOException {
        try (Worker server = Waybill.connect(home, "server")
                        .with("text.count", (message, outbox) -> {
                            throw new IOException("the disk is gone");
                        })
                        .join();
                Worker client = Waybill.connect(home, "client").join()) {
            assertThat(server.pendingCalls()).isZero();
            assertThatThrownBy(() -> client.call(count("to be")))
                    .hasMessageContaining("the disk is gone")
                    .asInstanceOf(type(CallException.class))
                    .extracting(CallException::code)
                    .isEqualTo(ErrorCode.HANDLER_FAILED);
        }
    }

    @Test
    void deliversToALambdaAsDeclared() throws IOException {
        MessageHandler seven = (message, outbox) -> outbox.respond(Value.of(7));
        try (Worker server = Waybill.connect(home, "server")
                .with("text.often", seven, Delivery.AT_LEAST_ONCE)
                .with("text.once", new Count(null), Delivery.AT_MOST_ONCE) // declares otherwise
                .with("text.default", seven)
                .join()) {
            assertThat(server.parts.registry.statuses())
                    .filteredOn(status -> status.key().text().startsWith("text."))
                    .extracting(status ->
                            status.key().text() + " " + status.delivery().text())
                    .containsExactlyInAnyOrder(
                            "text.often at-least-once", "text.once at-most-once", "text.default at-most-once");
        }
        Waybill waybill = Waybill.connect(home, "server");
        assertThatThrownBy(() -> waybill.with("text.count", seven, "twice"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a handler's delivery is at-most-once or at-least-once, not \"twice\"");
    }

    @Test
    void servesWithLambdasAndPolicies() throws IOException {
        try (Worker server = Waybill.connect(home, "server")
                        .with("text.*", (message, outbox) -> outbox.respond(Value.of(7)))
                        .with(request ->
                                request.workerName().equals("client") ? Decision.allow() : Decision.deny("not you"))
                        .with(request ->
                                request.operation().equals("text.count") ? Decision.allow() : Decision.deny("not that"))
                        .join();
                Worker client = Waybill.connect(home, "client").join();
                Worker other = Waybill.connect(home, "other").join()) {
            assertThat(server.pendingCalls()).isZero();
            try (Response response = client.call(count("to be"))) {
                assertThat(response.value()).isEqualTo(Value.of(7));
            }
            assertThatThrownBy(() -> other.call(count("to be"))).hasMessageContaining("not you");
            assertThatThrownBy(() -> client.call(Request.operation("server", "text.other")))
                    .hasMessageContaining("not that");
        }
    }

    @Test
    void interceptsCallsAndHandlers() throws IOException {
        try (Worker server = Waybill.connect(home, "server")
                        .with("text.count", (message, outbox) -> outbox.respond(Value.of(7)))
                        .with(new Refusal())
                        .join();
                Worker client =
                        Waybill.connect(home, "client").with(new Refusal()).join()) {
            assertThat(server.pendingCalls()).isZero();
            assertThatThrownBy(() -> client.call(count("to be"))).hasMessageContaining("closed today");
            assertThatThrownBy(() -> client.call(count("to be"))).hasMessageContaining("one call is enough");
        }
    }

    @Test
    void hasConverters() throws IOException {
        try (Worker worker = Waybill.connect(home, "worker").with(new Toy()).join()) {
            assertThat(worker.devices().types()).containsEntry("toy", "no toys here");
        }
    }

    @Test
    void refusesWhatIsNoExtension() {
        Waybill waybill = Waybill.connect(home, "server");
        assertThatThrownBy(() -> waybill.with("text.count"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("none of them: java.lang.String");
        MessageHandler unnamed = (message, outbox) -> {};
        assertThatThrownBy(() -> waybill.with(unnamed)).hasMessageContaining("needs the annotation @HandlesMessage");
        assertThatThrownBy(() -> waybill.with("control:bundle.list", unnamed)).hasMessageContaining("the node's own");
        assertThat(home).doesNotExist();
    }

    @Test
    void refusesHandlersOfAWorkerThatServesNothing() {
        WorkerSettings callsOnly =
                WorkerSettings.builder().role(WorkerSettings.Role.CALLS_ONLY).build();
        assertThatThrownBy(() -> Waybill.connect(home, "caller")
                        .settings(callsOnly)
                        .with("text.count", (message, outbox) -> outbox.respond(Value.of(1)))
                        .join())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("caller has the role CALLS_ONLY, in which it gets no request for a handler of text.count;"
                        + " its role must be SERVES");
    }

    @Test
    void freesItsNameWhenAnExtensionFails() throws IOException {
        assertThatThrownBy(() -> Waybill.connect(home, "server")
                        .withBroker(broker -> {
                            throw new AssertionError(
                                    "of " + broker.self().worker().name());
                        })
                        .join())
                .isInstanceOf(AssertionError.class)
                .hasMessage("of server");
        assertThatThrownBy(() -> Waybill.connect(home, "server")
                        .withBroker(Count::new)
                        .with("text.words", (message, outbox) -> {})
                        .join())
                .hasMessage("two handlers of worker server take text.words: one of " + Count.class.getName()
                        + " and one of " + WaybillTest.class.getName());
        assertThatThrownBy(() -> Waybill.connect(home, "server")
                        .withBroker(broker -> null)
                        .join())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("none of them: null");
        Waybill.connect(home, "server").join().close();
    }

    @Test
    void servesNothingBeforeItsPoliciesAreThere() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        List<String> asked = new ArrayList<>();
        try (Worker client = Waybill.connect(home, "client").join()) {
            Thread joining = new Thread(() -> {
                try (Worker server = Waybill.connect(home, "server")
                        .with("text.count", (message, outbox) -> outbox.respond(Value.of(7)))
                        .withBroker(broker -> {
                            entered.countDown();
                            await(go);
                            return Audited.by(asked);
                        })
                        .join()) {
                    assertThat(server.drain(Duration.ofSeconds(10))).isZero();
                    Waits.until("the policy is asked", () -> !asked.isEmpty());
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            joining.start();
            await(entered);
            var response = client.callAsync(count("to be"));
            go.countDown();
            assertThatThrownBy(response::join)
                    .hasCauseInstanceOf(CallException.class)
                    .hasMessageContaining("audited");
            joining.join();
        }
    }

    /** A policy that denies everything. */
    private record Audited(List<String> asked) implements io.waybill.api.policy.AccessPolicy {
        static Audited by(List<String> asked) {
            return new Audited(asked);
        }

        @Override
        public Decision decide(io.waybill.api.policy.AccessRequest request) {
            asked.add(request.operation());
            return Decision.deny("audited");
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void endsTheThreadsOfItsHandlers() throws Exception {
        List<Thread> threads = new ArrayList<>();
        CountDownLatch begun = new CountDownLatch(1);
        Worker server = Waybill.connect(home, "server")
                .settings(WorkerSettings.builder().drainLimit(Duration.ZERO).build())
                .with("text.count", (message, outbox) -> {
                    threads.add(Thread.currentThread());
                    begun.countDown();
                    await(new CountDownLatch(1));
                })
                .join();
        try (Worker client = Waybill.connect(home, "client").join()) {
            var response = client.callAsync(count("to be"));
            await(begun);
            server.close();
            assertThatThrownBy(response::join).hasMessageContaining("worker server (id 0) left");
            Waits.until("the handler's thread ends", () -> !threads.get(0).isAlive());
            assertThat(threads.get(0).getName()).startsWith("server-handler-");
        }
    }

    @Test
    void isCalledByAProgramOfTwelveLines() throws Exception {
        assertThat(Files.readAllLines(PROGRAM).stream().filter(line -> !line.isBlank()))
                .hasSize(12);
        try (Worker server =
                Waybill.connect(home, "server").withBroker(Count::new).join()) {
            Output output = runCaller(server.info().name(), "");
            assertThat(output.err).isEmpty();
            assertThat(output.out.lines().filter(line -> !line.contains(" INFO ")))
                    .as("what the program printed, without its log")
                    .first()
                    .isEqualTo("6");
        }
    }

    @Test
    void namesTheFlagThatTheJvmLacks() throws Exception {
        for (String flag : FLAGS) {
            Output output = runCaller("server", flag);
            assertThat(output.err)
                    .contains("IllegalStateException: Waybill can't map files in a JVM that was started without " + flag
                            + "; add this to its command line");
            assertThat(output.out).isEmpty();
        }
        assertThat(home).doesNotExist();
    }

    private record Output(String out, String err) {}

    /** Runs the example in a JVM that lacks a flag. */
    private Output runCaller(String server, String lacking) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String flag : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            boolean isWanted =
                    FLAGS.contains(flag) || flag.startsWith("-Dslf4j") || flag.startsWith("-Djava.io.tmpdir");
            if (isWanted && !flag.equals(lacking)) {
                command.add(flag);
            }
        }
        command.addAll(List.of(
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(List.of(PROGRAM.toString(), home.toString(), server, "to be or not to be"));
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        Process process = new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        try {
            process.waitFor();
        } finally {
            process.destroyForcibly();
        }
        return new Output(Files.readString(out), Files.readString(err));
    }
}
