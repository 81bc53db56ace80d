package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A bundle whose interceptor wraps the calls of handlers, its own and those of a bundle that uses its service, is updated while these are in flight: they end
 * with the version that they began with, and the update does not wait for its drain limit.
 */
@Timeout(300)
class NestedCallsUnderSwapsBundleTest {

    private static final String HOLD = "waybill.test.hold";
    private static final String NAME = "org.acme.marks";
    private static final int CALLERS = 3;
    private static final MessageType PLAIN = MessageType.userRequest(0x43);

    /** Puts its version in front of the nested calls. */
    private static final String MARKS = """
            @Component(service = {CallInterceptor.class, java.util.function.IntSupplier.class}, property = "marks=yes")
            @InterceptsMessage("0x143")
            public final class Marks implements CallInterceptor, java.util.function.IntSupplier {
                @Override
                public void onRequest(OutgoingCall call) {
                    java.nio.ByteBuffer outer = java.nio.ByteBuffer.allocate(1);
                    call.wrap(MessageType.userRequest(0x42), outer.put((byte) VERSION).flip());
                }

                @Override
                public void onResponse(IncomingResponse response) throws RejectedMessageException {
                    java.nio.ByteBuffer payload = response.response().payload();
                    int version = payload.get();
                    if (version != VERSION) {
                        throw new RejectedMessageException(
                                ErrorCode.REFUSED, "wrapped by version " + version + ", unwrapped by VERSION");
                    }
                    response.unwrap(MessageType.of(0x243), payload);
                }

                @Override
                public int getAsInt() {
                    return VERSION;
                }

                static void call(Outbox outbox, int version) {
                    ((Runnable) System.getProperties().get("waybill.test.hold")).run();
                    Request request = Request.raw(
                            "peer", MessageType.userRequest(0x43), java.nio.ByteBuffer.allocate(1), List.of());
                    outbox.caller().call(request).close();
                    outbox.respond(Value.of(version));
                }
            }
            """;

    private static final String OUTER = """
            @Component
            @HandlesMessage("text.own")
            public final class Outer implements MessageHandler {
                @Override
                public void handle(Message message, Outbox outbox) {
                    Marks.call(outbox, VERSION);
                }
            }
            """;

    /** Holds the message inside back, whose handler is in the other bundle. */
    private static final String ENVELOPE = """
            @Component
            @HandlesMessage("0x150")
            public final class Envelope implements MessageHandler {
                @Override
                public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                    ((Runnable) System.getProperties().get("waybill.test.hold")).run();
                    try (Response inner = outbox.dispatch(
                            MessageType.NAMED_CALL, message.payload(), List.of(), List.of())) {
                        outbox.respond(inner.payload());
                    }
                }
            }
            """;

    /** Of another bundle: its component ends when the service goes. */
    private static final String USER = """
            @Component
            @HandlesMessage("text.user")
            public final class User implements MessageHandler {
                @Reference(target = "(marks=yes)")
                private java.util.function.IntSupplier marks;

                @Override
                public void handle(Message message, Outbox outbox) {
                    int version = marks.getAsInt();
                    ((Runnable) System.getProperties().get("waybill.test.hold")).run();
                    Request request = Request.raw(
                            "peer", MessageType.userRequest(0x43), java.nio.ByteBuffer.allocate(1), List.of());
                    outbox.caller().call(request).close();
                    outbox.respond(Value.of(version));
                }
            }
            """;

    /** Responds with its version and with that of the handler which it calls, by the worker or inside its message. */
    private static final String CALLS_ITSELF = """
            @Component
            @HandlesMessage({"self.call", "self.dispatch"})
            public final class CallsItself implements MessageHandler {
                @Override
                public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                    ((Runnable) System.getProperties().get("waybill.test.hold")).run();
                    boolean calls = message.operation().equals("self.call");
                    try (Response response = calls
                            ? outbox.caller().call(Request.operation("node", "self.version"))
                            : outbox.dispatch(MessageType.NAMED_CALL, named(), List.of(), List.of())) {
                        outbox.respond(Value.of("VERSION " + response.int64("version")));
                    }
                }

                private static java.nio.ByteBuffer named() {
                    byte[] name = "self.version".getBytes(java.nio.charset.StandardCharsets.UTF_8);
                    java.nio.ByteBuffer payload = java.nio.ByteBuffer.allocate(2 + name.length);
                    payload.order(java.nio.ByteOrder.LITTLE_ENDIAN).putShort((short) name.length).put(name);
                    return payload.flip();
                }
            }
            """;

    private static final String VERSION = """
            @Component
            @HandlesMessage("self.version")
            public final class Version implements MessageHandler {
                @Override
                public void handle(Message message, Outbox outbox) {
                    outbox.response().int64("version", VERSION);
                }
            }
            """;

    private static final String BEGIN = """
            @Component
            @HandlesMessage("pass.begin")
            public final class Begin implements MessageHandler {
                static final java.util.concurrent.atomic.AtomicInteger OPEN = new java.util.concurrent.atomic.AtomicInteger();

                @Override
                public void handle(Message message, Outbox outbox) {
                    OPEN.incrementAndGet();
                    outbox.respond(Value.of(VERSION));
                }
            }
            """;

    private static final String END = """
            @Component
            @HandlesMessage("pass.end")
            @NonBlocking
            public final class End implements MessageHandler, LeavesLast {
                @Override
                public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                    if (Begin.OPEN.getAndUpdate(open -> Math.max(0, open - 1)) == 0) {
                        throw new RejectedMessageException(ErrorCode.REFUSED, "version VERSION began nothing");
                    }
                    outbox.respond(Value.of(VERSION));
                }

                @Override
                public boolean isInProgress() {
                    return Begin.OPEN.get() > 0;
                }
            }
            """;

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicLong held = new AtomicLong();
    private final List<Integer> wrappedBy = new CopyOnWriteArrayList<>();
    private BundleForge forge;
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker worker;
    private Worker peer;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        System.getProperties().put(HOLD, (Runnable) this::hold);
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        handlers = workers.registry();
        worker = workers.join("node", handlers);
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, "0x142", (message, outbox) -> {
            ByteBuffer payload = message.payload();
            wrappedBy.add((int) payload.get(payload.position()));
            outbox.respond(payload);
        });
        peer = workers.join("peer", registry);
        node = new TestNode(directory.resolve("osgi"), handlers, worker.interceptors(), worker.brokers());
    }

    @AfterEach
    void stop() throws Exception {
        hold.countDown();
        node.close();
        workers.close();
        System.getProperties().remove(HOLD);
    }

    private void hold() {
        held.incrementAndGet();
        try {
            hold.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Path version(int version, String... sources) throws Exception {
        BundleForge.Draft draft = forge.bundle(NAME, version + ".0.0");
        for (String source : sources) {
            String name = source.replaceFirst("(?s).*public final class (\\w+).*", "$1");
            draft.source(name, source.replace("VERSION", Integer.toString(version)));
        }
        return draft.build();
    }

    private CompletableFuture<Void> updating(Path jar) {
        return CompletableFuture.runAsync(() -> {
            try {
                node.bundles().update(jar);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private static Request request(String operation) {
        Request request = operation.equals("envelope")
                ? Request.raw("node", MessageType.userRequest(0x50), named("text.user"), List.of())
                : Request.operation("node", operation);
        return request.timeout(Duration.ofSeconds(200));
    }

    /** The payload of a call to an operation without arguments. */
    private static ByteBuffer named(String operation) {
        ByteBuffer payload = ByteBuffer.allocate(2 + operation.length()).order(java.nio.ByteOrder.LITTLE_ENDIAN);
        payload.putShort((short) operation.length())
                .put(operation.getBytes(java.nio.charset.StandardCharsets.UTF_8))
                .flip();
        return payload;
    }

    private boolean isDraining(String key) {
        return handlers.statuses().stream()
                .anyMatch(status ->
                        status.key().equals(HandlerKey.parse(key)) && status.state() == HandlerInfo.State.DRAINING);
    }

    @ParameterizedTest
    @ValueSource(strings = {"text.own", "text.user", "envelope"})
    void nestedCallsOfRequestsInFlightUseTheVersionThatLeaves(String operation) throws Exception {
        node.bundles().install(version(1, MARKS, OUTER, ENVELOPE));
        node.bundles()
                .install(forge.bundle("org.acme.user", "1.0.0")
                        .source("User", USER)
                        .build());
        CompletableFuture<Response> call = peer.callAsync(request(operation));
        Waits.until("the handler runs", () -> held.get() == 1);
        CompletableFuture<Void> updated = updating(version(2, MARKS, OUTER, ENVELOPE));
        Waits.until("it drains", () -> isDraining(operation.equals("envelope") ? "0x150" : operation));
        CompletableFuture<Response> next = peer.callAsync(request(operation));
        CompletableFuture<Response> plain = CompletableFuture.supplyAsync(() -> worker.call(
                Request.raw("peer", PLAIN, ByteBuffer.allocate(1), List.of()).timeout(Duration.ofSeconds(200))));
        hold.countDown();
        call.get(200, TimeUnit.SECONDS).close(); // HANDLER_STUCK if it waits for the next version
        updated.get(200, TimeUnit.SECONDS);
        next.get(200, TimeUnit.SECONDS).close();
        plain.get(200, TimeUnit.SECONDS).close();
        assertThat(wrappedBy)
                .as("versions that wrapped the nested calls, the first one's first")
                .startsWith(1);
        assertThat(wrappedBy).as("new calls wait for the new version").containsExactlyInAnyOrder(1, 2, 2);
        nothingIsLeft();
    }

    @ParameterizedTest
    @ValueSource(strings = {"self.call", "self.dispatch"})
    void callsToTheOwnWorkerEndWithTheVersionThatMadeThem(String operation) throws Exception {
        node.bundles().install(version(1, CALLS_ITSELF, VERSION));
        CompletableFuture<Response> call = peer.callAsync(request(operation));
        Waits.until("the handler runs", () -> held.get() == 1);
        CompletableFuture<Void> updated = updating(version(2, CALLS_ITSELF, VERSION));
        Waits.until("it drains", () -> isDraining("self.version"));
        try (Response version = peer.call(Request.operation("node", "self.version"))) {
            assertThat(version.int64("version")).isEqualTo(2);
        }
        hold.countDown();
        try (Response response = call.get(200, TimeUnit.SECONDS)) {
            assertThat(response.value()).as("versions that handled the two").isEqualTo(Value.of("1 1"));
        }
        updated.get(200, TimeUnit.SECONDS);
        assertThat(called(operation)).isEqualTo(Value.of("2 2"));
        nothingIsLeft();
    }

    @Test
    void whatBeganWithAVersionEndsWithIt() throws Exception {
        node.bundles().install(version(1, BEGIN, END));
        assertThat(called("pass.begin")).isEqualTo(Value.of(1));
        CompletableFuture<Void> updated = updating(version(2, BEGIN, END));
        Waits.until(
                "no other one begins",
                () -> handlers.statuses().stream()
                        .anyMatch(status ->
                                status.key().text().equals("pass.begin") && status.state() == HandlerInfo.State.LEFT));
        CompletableFuture<Response> next = peer.callAsync(request("pass.begin"));
        assertThat(called("pass.end")).isEqualTo(Value.of(1));
        updated.get(200, TimeUnit.SECONDS);
        try (Response response = next.get(200, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of(2));
        }
        assertThat(called("pass.end")).isEqualTo(Value.of(2));
        nothingIsLeft();
    }

    private Value called(String operation) {
        try (Response response = peer.call(request(operation))) {
            return response.value();
        }
    }

    @Test
    void losesAndFailsNothingInSomeUpdates() throws Exception {
        updateUnderLoad(10);
    }

    @Test
    @Tag("ci")
    void losesAndFailsNothingInManyUpdates() throws Exception {
        updateUnderLoad(100);
    }

    private void updateUnderLoad(int updates) throws Exception {
        hold.countDown();
        Path[] versions = {
            version(1, MARKS, OUTER, ENVELOPE, BEGIN, END), version(2, MARKS, OUTER, ENVELOPE, BEGIN, END)
        };
        node.bundles().install(versions[0]);
        node.bundles()
                .install(forge.bundle("org.acme.user", "1.0.0")
                        .source("User", USER)
                        .build());
        AtomicBoolean stopped = new AtomicBoolean();
        AtomicLong rounds = new AtomicLong();
        List<CompletableFuture<Void>> calling = IntStream.range(0, CALLERS)
                .mapToObj(each -> CompletableFuture.runAsync(() -> {
                    while (!stopped.get()) {
                        List.of("text.own", "text.user", "envelope")
                                .forEach(operation ->
                                        peer.call(request(operation)).close());
                        assertThat(called("pass.begin")).isEqualTo(called("pass.end"));
                        rounds.incrementAndGet();
                    }
                }))
                .toList();
        for (int update = 1; update <= updates; update++) {
            node.bundles().update(versions[update % 2]);
            long before = rounds.get();
            Waits.until(
                    "calls go on",
                    () -> rounds.get() > before || calling.stream().anyMatch(CompletableFuture::isDone));
        }
        stopped.set(true);
        for (CompletableFuture<Void> each : calling) {
            each.get(200, TimeUnit.SECONDS);
        }
        nothingIsLeft();
    }

    private void nothingIsLeft() {
        assertThat(handlers.statuses()).allMatch(status -> status.failed() == 0);
        Waits.until(
                "no request is in flight",
                () -> handlers.statuses().stream().allMatch(status -> status.inFlight() == 0));
        Waits.until(
                "no intercepted call is in flight",
                () -> worker.interceptors().calls().statuses().stream()
                        .allMatch(status -> status.inFlight() == 0 && status.failed() == 0));
        assertThat(worker.pendingCalls()).isZero();
        Waits.until("the old class loaders are unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }
}
