package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.intercept.InterceptorStatus;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Interceptors of bundles in a real framework and a real home, while the bundles are updated. */
@Timeout(240)
class InterceptorBundleTest {

    private static final int CALLERS = 2;
    private static final int IN_FLIGHT = 32; // of each caller
    private static final MessageType PLAIN = MessageType.userRequest(0x43);

    /** Puts its version before the payload, and checks that it is there again in the response. */
    private static final String ENVELOPE = """
            @Component
            @InterceptsMessage("0x143")
            public final class Envelope implements CallInterceptor {
                @Override
                public void onRequest(OutgoingCall call) {
                    java.nio.ByteBuffer inner = call.payload();
                    java.nio.ByteBuffer outer = java.nio.ByteBuffer.allocate(inner.remaining() + 1);
                    outer.put((byte) VERSION).put(inner).flip();
                    call.wrap(MessageType.userRequest(0x42), outer);
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
            }
            """;

    @TempDir
    Path directory;

    private final AtomicLong served = new AtomicLong();
    private final CountDownLatch hold = new CountDownLatch(1);
    private BundleForge forge;
    private Workers workers;
    private Worker worker;
    private Worker peer;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        HandlerRegistry own = workers.registry();
        worker = workers.join("node", own);
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, "0x142", (message, outbox) -> {
            served.incrementAndGet();
            outbox.respond(message.payload());
        });
        workers.handle(registry, "0x144", (message, outbox) -> {
            await();
            outbox.respond(message.payload());
        });
        peer = workers.join("peer", registry);
        node = new TestNode(directory.resolve("osgi"), own, worker.interceptors(), worker.brokers());
    }

    private void await() {
        try {
            hold.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @AfterEach
    void stop() throws Exception {
        hold.countDown();
        node.close();
        workers.close();
    }

    private Path envelope(int version) throws Exception {
        return forge.bundle("org.acme.envelope", version + ".0.0")
                .source("Envelope", ENVELOPE.replace("VERSION", Integer.toString(version)))
                .build();
    }

    private static Request plain() {
        return Request.raw("peer", PLAIN, ByteBuffer.wrap(new byte[] {7, 8}), List.of())
                .timeout(Duration.ofSeconds(20));
    }

    private static void isPlain(Response response) {
        assertThat(response.type()).isEqualTo(MessageType.of(0x243));
        assertThat(response.payload()).isEqualTo(ByteBuffer.wrap(new byte[] {7, 8}));
    }

    private List<InterceptorStatus> statuses() {
        return worker.interceptors().calls().statuses();
    }

    @Test
    void wrapsCallsAndLetsTheOldLoaderGo() throws Exception {
        node.bundles().install(envelope(1));
        for (int version = 2; version < 5; version++) {
            try (Response response = worker.call(plain())) {
                isPlain(response);
            }
            node.bundles().update(envelope(version));
        }
        assertThat(statuses()).singleElement().satisfies(status -> {
            assertThat(status.provider()).hasToString("org.acme.envelope 4.0.0");
            assertThat(status.inFlight()).isZero();
        });
        Waits.until("the old class loaders are unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
        node.bundles().uninstall("org.acme.envelope");
        assertThat(statuses()).isEmpty();
    }

    @Test
    void endsACallByTheVersionThatWrappedIt() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.envelope", "1.0.0")
                        .source(
                                "Envelope",
                                ENVELOPE.replace("VERSION", "1").replace("userRequest(0x42)", "userRequest(0x44)"))
                        .build());
        CompletableFuture<Response> call = worker.callAsync(plain());
        Waits.until("the call is in flight", () -> statuses().get(0).inFlight() == 1);
        CompletableFuture<Void> updated = CompletableFuture.runAsync(() -> {
            try {
                node.bundles().update(envelope(2));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        Waits.until("the old version is leaving", () -> statuses().get(0).leaving());
        assertThat(call).isNotDone();
        hold.countDown();
        try (Response response = call.get()) {
            isPlain(response);
        }
        updated.get();
        try (Response response = worker.call(plain())) {
            isPlain(response);
        }
    }

    @Test
    void losesDoublesAndFailsNoCallWhileItIsUpdated() throws Exception {
        updateUnderCalls(20);
    }

    @Test
    @Tag("ci")
    void losesDoublesAndFailsNoCallInManyUpdates() throws Exception {
        updateUnderCalls(200);
    }

    private void updateUnderCalls(int updates) throws Exception {
        Path[] versions = {envelope(1), envelope(2)};
        node.bundles().install(versions[0]);
        AtomicBoolean stopped = new AtomicBoolean();
        AtomicLong responses = new AtomicLong();
        List<CompletableFuture<Void>> calling = IntStream.range(0, CALLERS)
                .mapToObj(each -> CompletableFuture.runAsync(() -> {
                    while (!stopped.get()) {
                        callAll(responses);
                    }
                }))
                .toList();
        for (int update = 1; update <= updates; update++) {
            node.bundles().update(versions[update % 2]);
            long before = responses.get();
            Waits.until(
                    "calls go on",
                    () -> responses.get() > before || calling.stream().anyMatch(CompletableFuture::isDone));
        }
        stopped.set(true);
        for (CompletableFuture<Void> each : calling) {
            each.get();
        }
        assertThat(served).hasValue(responses.get());
        assertThat(worker.pendingCalls()).isZero();
        // a call leaves its interceptors after its future is completed
        Waits.until("no call is in flight", () -> statuses().stream().allMatch(status -> status.inFlight() == 0));
        assertThat(statuses()).hasSize(1).allMatch(status -> status.failed() == 0);
        Waits.until("the old class loaders are unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }

    /** Has some calls in flight at once, and waits for their responses. */
    private void callAll(AtomicLong responses) {
        List<CompletableFuture<Response>> calls = IntStream.range(0, IN_FLIGHT)
                .mapToObj(each -> worker.callAsync(plain()))
                .toList();
        for (CompletableFuture<Response> call : calls) {
            try (Response response = call.join()) { // bare it would go to a type that no handler takes
                isPlain(response);
                responses.incrementAndGet();
            }
        }
    }

    @Test
    void showsFailuresInTheListOfBundles() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.envelope", "1.0.0")
                        .source(
                                "Envelope",
                                "@Component @InterceptsMessage public final class Envelope implements CallInterceptor {"
                                        + " @Override public void onRequest(OutgoingCall call) {"
                                        + " throw new AssertionError(\"planted\"); } }")
                        .build());
        for (int i = 0; i < 3; i++) {
            assertThatExceptionOfType(CallException.class).isThrownBy(() -> worker.call(plain()));
        }
        Value bundles = node.call("control:bundle.list", Map.of()).field("bundles");
        assertThat(((Value.Items) bundles).values())
                .map(bundle -> ((Value.Dict) bundle).entries())
                .filteredOn(bundle -> bundle.get(Value.of("name")).equals(Value.of("org.acme.envelope")))
                .extracting(bundle -> bundle.get(Value.of("failures")))
                .containsExactly(Value.of(3));
    }

    @Test
    void runsTheExampleOfTheBook() throws Exception {
        String source = Files.readString(Path.of("src/test/java/org/acme/audit/Audit.java"));
        node.bundles()
                .install(forge.bundle("org.acme.audit", "1.0.0")
                        .library("org.acme.audit", "Audit", source.substring(source.indexOf(';') + 1))
                        .header("-privatepackage", "org.acme.audit")
                        .build());
        node.bundles()
                .install(forge.bundle("org.acme.count", "1.0.0")
                        .handler(
                                "Count",
                                "\"text.count\", \"text.bad\"",
                                "if (message.operation().equals(\"text.bad\")) {"
                                        + " throw new IllegalStateException(\"planted\"); }"
                                        + " outbox.respond(Value.of(1));")
                        .build());
        try (Response response = peer.call(Request.operation("node", "text.count"))) {
            assertThat(response.value()).isEqualTo(Value.of(1));
        }
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> peer.call(Request.operation("node", "text.bad")));
        assertThat(worker.brokers().counts())
                .containsEntry("org.acme.audit/requests", 2L)
                .containsEntry("org.acme.audit/errors", 1L);
    }

    @Test
    void refusesAnInterceptorWithoutKeys() throws Exception {
        Path jar = forge.bundle("org.acme.all", "1.0.0")
                .source(
                        "All",
                        "@Component public final class All implements CallInterceptor {"
                                + " @Override public void onRequest(OutgoingCall call) {} }")
                .build();
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContaining("waybill.intercepts.message");
    }
}
