package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.api.Value;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.Waits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The next version of a bundle starts while the running one serves, and takes its requests over by one write. */
@Timeout(120)
class SideBySideBundleTest {

    private static final String HOLD = "waybill.test.hold";
    private static final String ACTIVATED = "waybill.test.activated";

    @TempDir
    Path directory;

    private final CountDownLatch held = new CountDownLatch(1);
    private final AtomicInteger activated = new AtomicInteger();
    private volatile boolean isHeld; // by the bundle's code; read by the test
    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        System.getProperties().put(HOLD, (Runnable) this::hold);
        System.getProperties().put(ACTIVATED, activated);
        node = new TestNode(directory.resolve("node"));
    }

    @AfterEach
    void stopNode() {
        held.countDown();
        node.close();
        System.getProperties().remove(HOLD);
        System.getProperties().remove(ACTIVATED);
    }

    private void hold() {
        isHeld = true;
        try {
            held.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String responding(String text) {
        return "outbox.respond(Value.of(\"" + text + "\"));";
    }

    private static String holding() {
        return "((Runnable) System.getProperties().get(\"" + HOLD + "\")).run();";
    }

    private CompletableFuture<BundleStatus> updating(Path jar) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return node.bundles().update(jar);
            } catch (BundleRefusedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void theNextVersionServesWhileTheOldOneEndsItsRequests() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.count", "1.0.0")
                        .handler("Count", "\"text.count\"", holding() + responding("one"))
                        .build());
        CompletableFuture<RecordingOutbox> running = node.callAsync("text.count", Map.of());
        Waits.until("the handler runs", () -> isHeld);

        CompletableFuture<BundleStatus> update = updating(forge.responding("org.acme.count", "2.0.0", "two"));
        Waits.until(
                "the next version serves",
                () -> node.entry("text.count").provider().version().equals("2.0.0"));
        assertThat(node.response()).isEqualTo("two");
        assertThat(update).as("the update waits for the request").isNotDone();
        assertThat(running).isNotDone();
        assertThat(node.registry.statuses())
                .filteredOn(status -> status.key().text().equals("text.count"))
                .extracting(
                        status -> status.state(), status -> status.provider().version())
                .containsExactlyInAnyOrder(
                        tuple(HandlerInfo.State.SERVING, "2.0.0"), tuple(HandlerInfo.State.DRAINING, "1.0.0"));

        held.countDown();
        assertThat(running.get(20, TimeUnit.SECONDS).value()).isEqualTo(Value.of("one"));
        assertThat(update.get(20, TimeUnit.SECONDS).version()).isEqualTo("2.0.0");
        assertThat(node.bundles().list())
                .filteredOn(bundle -> bundle.kind() == BundleInfo.Kind.HANDLER)
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactly(tuple("2.0.0", BundleInfo.State.ACTIVE));
    }

    @Test
    void noTableIsWithoutAHandler() throws Exception {
        Path[] versions = {
            forge.responding("org.acme.count", "1.0.0", "one"), forge.responding("org.acme.count", "2.0.0", "two")
        };
        node.bundles().install(versions[0]);
        AtomicInteger absent = new AtomicInteger();
        AtomicInteger changes = new AtomicInteger();
        HandlerRegistry.Listener listener = () -> {
            changes.incrementAndGet();
            absent.addAndGet(node.entry("text.count") == null ? 1 : 0);
        };
        node.registry.addListener(listener);
        for (int update = 1; update <= 10; update++) {
            node.bundles().update(versions[update % 2]);
        }
        node.registry.removeListener(listener);
        assertThat(changes.get()).isGreaterThanOrEqualTo(10);
        assertThat(absent)
                .as("changes of the table after which the operation had no handler")
                .hasValue(0);
    }

    @Test
    void theNextVersionServesNothingBeforeAllOfItHasStarted() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        Path next = forge.bundle("org.acme.count", "2.0.0")
                .source(
                        "Count",
                        "@Component(property = \"service.ranking:Integer=10\") @HandlesMessage(\"text.count\")"
                                + " public final class Count implements MessageHandler {"
                                + " public void handle(Message m, Outbox outbox) { " + responding("two") + " } }")
                .source(
                        "Slow",
                        "@Component @HandlesMessage(\"text.slow\") public final class Slow implements MessageHandler {"
                                + " @Activate public Slow() { " + holding() + " }"
                                + " public void handle(Message m, Outbox outbox) { " + responding("slow") + " } }")
                .build();

        CompletableFuture<BundleStatus> update = updating(next);
        Waits.until("a component of the next version starts", () -> isHeld);
        assertThat(node.response()).isEqualTo("one");
        assertThat(node.entry("text.slow")).isNull();
        assertThat(node.registry.statuses())
                .extracting(status -> status.provider().version())
                .doesNotContain("2.0.0");

        held.countDown();
        update.get(20, TimeUnit.SECONDS);
        assertThat(node.response()).isEqualTo("two");
        assertThat(node.entry("text.slow")).isNotNull();
    }

    @Test
    void aVersionThatClaimsAKeyOfAnotherBundleChangesNothing() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.other", "1.0.0")
                        .handler("Other", "\"text.other\"", responding("other"))
                        .build());
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        Path claiming = forge.bundle("org.acme.count", "2.0.0")
                .handler("Count", "\"text.count\"", responding("two"))
                .handler("Other", "\"text.other\"", responding("two"))
                .build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(claiming))
                .withMessageContaining("org.acme.count 2.0.0 claims text.other, which org.acme.other 1.0.0 handles")
                .withMessageContaining("org.acme.count 1.0.0 still serves");
        assertThat(node.response()).isEqualTo("one");
        assertThat(node.entry("text.other").provider().name()).isEqualTo("org.acme.other");
        assertThat(node.registry.statuses())
                .extracting(status -> status.provider().toString())
                .doesNotContain("org.acme.count 2.0.0");
        Waits.until("its class loader is unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }

    @Test
    void anOperationThatTheNextVersionLacksIsGone() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.count", "1.0.0")
                        .handler("Count", "\"text.count\"", responding("one"))
                        .handler("More", "\"text.more\"", responding("more"))
                        .build());
        node.bundles().update(forge.responding("org.acme.count", "2.0.0", "two"));
        assertThat(node.entry("text.more")).isNull();
        assertThat(node.response()).isEqualTo("two");
        node.bundles()
                .update(forge.bundle("org.acme.count", "3.0.0")
                        .handler("Count", "\"text.count\"", responding("three"))
                        .handler("More", "\"text.more\"", responding("more"))
                        .build());
        assertThat(node.entry("text.more").provider().version()).isEqualTo("3.0.0");
    }

    /** The service is of a type that both versions see, and so is the package. */
    @Test
    void noComponentDependsOnTheOtherVersion() throws Exception {
        for (int version = 1; version <= 3; version++) {
            node.bundles()
                    .install(forge.bundle("org.acme.count", version + ".0.0")
                            .library(
                                    "org.lib",
                                    "Lib",
                                    "public class Lib { public static int version() { return " + version + "; } }")
                            .header("Export-Package", "org.lib;version=1.0")
                            .source(
                                    "Supplies",
                                    "@Component public final class Supplies implements java.util.function.IntSupplier {"
                                            + " public int getAsInt() { return " + version + "; } }")
                            .source(
                                    "Count",
                                    "@Component @HandlesMessage(\"text.count\") public final class Count implements"
                                            + " MessageHandler { @Reference java.util.function.IntSupplier supplies;"
                                            + " @Activate public void activate() {"
                                            + " ((java.util.concurrent.atomic.AtomicInteger) System.getProperties()"
                                            + ".get(\"" + ACTIVATED + "\")).incrementAndGet(); }"
                                            + " public void handle(Message m, Outbox outbox) { outbox.respond("
                                            + "Value.of(supplies.getAsInt() + \" \" + org.lib.Lib.version())); } }")
                            .build());
            assertThat(node.response())
                    .as("versions of the service and of the package")
                    .isEqualTo(version + " " + version);
        }
        assertThat(activated).as("activations in three versions").hasValue(3);
    }

    @Test
    void aBundleThatDeclaresItselfExclusiveStopsBeforeItsNextVersionStarts() throws Exception {
        String own = "((java.util.concurrent.atomic.AtomicInteger) System.getProperties().get(\"" + ACTIVATED + "\"))";
        List<Path> versions = new ArrayList<>();
        for (int version = 1; version <= 3; version++) {
            versions.add(forge.bundle("org.acme.count", version + ".0.0")
                    .source(
                            "Count",
                            "@Exclusive @Component @HandlesMessage(\"text.count\") public final class Count implements"
                                    + " MessageHandler { @Activate public void activate() {"
                                    + " if (" + own + ".incrementAndGet() > 1) { throw new IllegalStateException("
                                    + "\"the port is taken\"); } }"
                                    + " @Deactivate public void deactivate() { " + own + ".decrementAndGet(); }"
                                    + " public void handle(Message m, Outbox outbox) { "
                                    + responding("" + version) + " } }")
                    .build());
        }
        for (Path version : versions) {
            node.bundles().install(version);
        }
        assertThat(node.response()).isEqualTo("3");
        assertThat(activated).hasValue(1);
    }
}
