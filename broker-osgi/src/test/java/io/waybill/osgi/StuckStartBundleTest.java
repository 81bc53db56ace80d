package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.api.Value;
import io.waybill.api.admin.BundleInfo.State;
import io.waybill.api.admin.LoaderInfo;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.Waits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A bundle that never returns from its own start, and how an operator gets rid of it. */
@Timeout(120)
class StuckStartBundleTest {

    private static final String NAME = "org.acme.hang";

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        System.setProperty("waybill.test.hold", "yes");
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        node = new TestNode(directory.resolve("node"), Duration.ofSeconds(20), Duration.ofSeconds(2));
    }

    @AfterEach
    void stopNode() throws Exception {
        System.clearProperty("waybill.test.hold");
        node.close();
    }

    private Path activator(String version, String start) throws Exception {
        return forge.bundle(NAME, version)
                .source(
                        "Activator",
                        "public final class Activator implements BundleActivator {"
                                + " public void start(BundleContext c) throws Exception {" + start + "}"
                                + " public void stop(BundleContext c) {} }")
                .header("Bundle-Activator", "acme.Activator")
                .build();
    }

    /** Deaf to interrupts, until the test removes the property of this name. */
    private Path hanging() throws Exception {
        return activator("1.0.0", """
                while (System.getProperty("waybill.test.hold") != null) {
                    java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                    Thread.interrupted();
                }
                """);
    }

    private void assertLoadersGo() {
        Waits.until("its class loader is collected", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }

    @Test
    void isListedAndUninstalledAndReplaced() throws Exception {
        Path jar = hanging();
        assertThatThrownBy(() -> node.bundles().install(jar))
                .isInstanceOf(BundleRefusedException.class)
                .hasMessageContaining("did not start within 2000 ms");
        assertThat(node.bundles().list())
                .filteredOn(bundle -> bundle.symbolicName().equals(NAME))
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactly(tuple("1.0.0", State.STUCK));

        BundleStatus removed = node.bundles().uninstall(NAME);

        assertThat(removed.state()).isEqualTo(State.STUCK);
        assertThat(removed.problem().orElseThrow()).contains("until it does or the node ends");
        assertThat(node.bundles().list())
                .noneMatch(bundle -> bundle.symbolicName().equals(NAME));
        assertThatThrownBy(() -> node.bundles().uninstall(NAME)).hasMessageContaining("no bundle " + NAME);
        assertThat(node.host.loaders().leaked(Duration.ZERO))
                .as("its threads still hold its classes")
                .extracting(LoaderInfo::version)
                .containsExactly("1.0.0");

        node.bundles().install(activator("2.0.0", ""));
        assertThat(node.bundles().list())
                .filteredOn(bundle -> bundle.symbolicName().equals(NAME))
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactly(tuple("2.0.0", State.ACTIVE));

        System.clearProperty("waybill.test.hold");
        assertLoadersGo();
    }

    @Test
    void isRefusedWhenItsPolicyDoesNotSayWhatItDecidesAbout() throws Exception {
        Path jar = forge.bundle(NAME, "1.0.0").source("Guard", """
                        @Component public final class Guard implements AccessPolicy {
                        @Override public Decision decide(AccessRequest request) { return Decision.allow(); }
                        @Override public boolean decidesControlCalls() {
                            while (System.getProperty("waybill.test.hold") != null) {
                                java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                                Thread.interrupted();
                            }
                            return true;
                        }}""").build();
        assertThatThrownBy(() -> node.bundles().install(jar))
                .isInstanceOf(BundleRefusedException.class)
                .hasMessageContaining("did not start within 2000 ms");
        node.bundles().uninstall(NAME);
        System.clearProperty("waybill.test.hold");
        assertLoadersGo();
        assertThat(node.registry.policies().current())
                .as("policies of a bundle that was removed before it returned")
                .isNull();
    }

    @Test
    void showsTheOperationThatOthersWaitFor() throws Exception {
        node.close();
        node = new TestNode(directory.resolve("patient"), Duration.ofSeconds(20), Duration.ofSeconds(120));
        Path slow = hanging();
        Path other = activator("2.0.0", "");
        assertThat(node.bundles().running()).isEmpty();

        CompletableFuture<BundleStatus> first =
                inBackground(() -> node.bundles().install(slow));
        Waits.until("it runs", () -> node.bundles().running().isPresent());
        CompletableFuture<BundleStatus> second =
                inBackground(() -> node.bundles().install(other));

        assertThat(node.bundles().running().orElseThrow().operation()).isEqualTo("install " + NAME + " 1.0.0");
        Value running = node.call("control:bundle.list", Map.of()).field("running");
        assertThat(((Value.Dict) running).entries().get(Value.of("operation")))
                .isEqualTo(Value.of("install " + NAME + " 1.0.0"));

        System.clearProperty("waybill.test.hold");
        assertThat(first.join().version()).isEqualTo("1.0.0");
        assertThat(second.join().version()).isEqualTo("2.0.0");
        assertThat(node.bundles().running()).isEmpty();
        assertThat(node.call("control:bundle.list", Map.of()).field("running")).isEqualTo(Value.NONE);
    }

    private interface Work {
        BundleStatus run() throws BundleRefusedException;
    }

    private static CompletableFuture<BundleStatus> inBackground(Work work) {
        CompletableFuture<BundleStatus> done = new CompletableFuture<>();
        new Thread(
                        () -> {
                            try {
                                done.complete(work.run());
                            } catch (BundleRefusedException | RuntimeException | Error e) {
                                done.completeExceptionally(e);
                            }
                        },
                        "operation")
                .start();
        return done;
    }

    @Test
    void leaksNoLoaderWhenItsFirstStartFails() throws Exception {
        Path jar = activator("1.0.0", "throw new IllegalStateException(\"no licence\");");
        assertThatThrownBy(() -> node.bundles().install(jar)).hasMessageContaining("no licence");
        assertThat(node.bundles().list())
                .noneMatch(bundle -> bundle.symbolicName().equals(NAME));
        assertLoadersGo();
    }
}
