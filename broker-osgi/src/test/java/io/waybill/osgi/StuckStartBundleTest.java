package io.waybill.osgi;

import static io.waybill.osgi.TestNode.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.osgi.BundleStatus.State;
import io.waybill.osgi.jar.BundleRefusedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
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
        eventually("its class loader is collected", () -> {
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
                .extracting(LoaderWatch.Leak::version)
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
    void leaksNoLoaderWhenItsFirstStartFails() throws Exception {
        Path jar = activator("1.0.0", "throw new IllegalStateException(\"no licence\");");
        assertThatThrownBy(() -> node.bundles().install(jar)).hasMessageContaining("no licence");
        assertThat(node.bundles().list())
                .noneMatch(bundle -> bundle.symbolicName().equals(NAME));
        assertLoadersGo();
    }
}
