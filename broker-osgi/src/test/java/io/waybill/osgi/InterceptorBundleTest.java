package io.waybill.osgi;

import static io.waybill.osgi.TestNode.eventually;
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
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Interceptors of bundles in a real framework and a real home, while the bundles are updated. */
@Timeout(240)
class InterceptorBundleTest {

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
        workers.handle(registry, "0x142", (message, outbox) -> outbox.respond(message.payload()));
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
        eventually("the old class loaders are unreachable", () -> {
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
        eventually("the call is in flight", () -> statuses().get(0).inFlight() == 1);
        CompletableFuture<Void> updated = CompletableFuture.runAsync(() -> {
            try {
                node.bundles().update(envelope(2));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        eventually("the old version is leaving", () -> statuses().get(0).leaving());
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
    void losesNoCallWhileItIsUpdated() throws Exception {
        node.bundles().install(envelope(1));
        AtomicBoolean stopped = new AtomicBoolean();
        AtomicLong responses = new AtomicLong();
        CompletableFuture<Void> calling = CompletableFuture.runAsync(() -> {
            while (!stopped.get()) {
                try (Response response = worker.call(plain())) { // bare it would go to a type that no handler takes
                    isPlain(response);
                    responses.incrementAndGet();
                }
            }
        });
        for (int version = 2; version < 22; version++) {
            node.bundles().update(envelope(version));
            long before = responses.get();
            eventually("calls go on", () -> responses.get() > before || calling.isDone());
        }
        stopped.set(true);
        calling.get();
        assertThat(worker.pendingCalls()).isZero();
        assertThat(statuses()).allMatch(status -> status.inFlight() == 0 && status.failed() == 0);
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
