package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A bundle that contains the handler of an envelope and the handlers of what is inside, while it is updated. */
@Timeout(240)
class EnvelopeBundleTest {

    private static final String HOLD = "waybill.test.hold";

    /** Waits, and responds with its version and those of two inner handlers. */
    private static final String ENVELOPE = """
            @Component
            @HandlesMessage("0x144")
            public final class Middle implements MessageHandler {
                @Override
                public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                    ((Runnable) System.getProperties().get("waybill.test.hold")).run();
                    java.nio.ByteBuffer versions = java.nio.ByteBuffer.allocate(3).put((byte) VERSION);
                    for (int kind : new int[] {0x45, 0x46}) {
                        try (Response inner = outbox.dispatch(
                                MessageType.userRequest(kind), message.payload(), List.of(), List.of())) {
                            versions.put(inner.payload());
                        }
                    }
                    outbox.respond(versions.flip());
                }
            }
            """;

    private static final String INNER = """
            @Component
            @HandlesMessage("KEY")
            public final class NAME implements MessageHandler {
                @Override
                public void handle(Message message, Outbox outbox) {
                    outbox.respond(java.nio.ByteBuffer.wrap(new byte[] {VERSION}));
                }
            }
            """;

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private BundleForge forge;
    private Workers workers;
    private HandlerRegistry registry;
    private Worker caller;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        registry = workers.registry();
        Worker worker = workers.join("node", registry);
        caller = workers.join("caller");
        node = new TestNode(directory.resolve("osgi"), registry, worker.interceptors(), worker.brokers());
        System.getProperties().put(HOLD, (Runnable) this::await);
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
        System.getProperties().remove(HOLD);
    }

    /** The components stand on both sides of the envelope, in whichever order the framework stops them. */
    private Path version(int version) throws Exception {
        String number = Integer.toString(version);
        return forge.bundle("org.acme.envelope", version + ".0.0")
                .source("Before", inner("Before", "0x145", number))
                .source("Middle", ENVELOPE.replace("VERSION", number))
                .source("Rear", inner("Rear", "0x146", number))
                .build();
    }

    private static String inner(String name, String key, String version) {
        return INNER.replace("NAME", name).replace("KEY", key).replace("VERSION", version);
    }

    private CompletableFuture<Response> call() {
        return caller.callAsync(
                Request.raw("node", MessageType.userRequest(0x44), ByteBuffer.wrap(new byte[] {7}), List.of())
                        .timeout(Duration.ofSeconds(100)));
    }

    @Test
    void letsARequestInFlightUseTheOtherHandlersOfItsBundleThatLeaves() throws Exception {
        node.bundles().install(version(1));
        CompletableFuture<Response> first = call();
        Waits.until(
                "the request is in flight",
                () -> registry.statuses().stream()
                                .mapToLong(HandlerStatus::inFlight)
                                .sum()
                        == 1);
        CompletableFuture<Void> updated = CompletableFuture.runAsync(() -> {
            try {
                node.bundles().update(version(2));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        Waits.until(
                "all three handlers leave",
                () -> registry.statuses().stream()
                                .filter(status -> status.state() == HandlerInfo.State.DRAINING)
                                .count()
                        == 3);
        CompletableFuture<Response> second = call();
        hold.countDown();
        try (Response response = first.join()) {
            assertThat(response.payload())
                    .as("its handlers, all of the version that began it")
                    .isEqualTo(ByteBuffer.wrap(new byte[] {1, 1, 1}));
        }
        updated.join();
        try (Response response = second.join()) {
            assertThat(response.payload()).isEqualTo(ByteBuffer.wrap(new byte[] {2, 2, 2}));
        }
        Waits.until("the old class loader is unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }
}
