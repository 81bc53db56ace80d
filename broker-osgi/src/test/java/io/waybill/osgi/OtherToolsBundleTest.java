package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.Value;
import io.waybill.api.admin.BundleInfo.State;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.Waits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Bundles that another bundle uninstalled, such as a shell or a console of OSGi, and bundles that lose what another one provided. */
@Timeout(120)
class OtherToolsBundleTest {

    private static final String COUNT = "org.acme.count";

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        node = new TestNode(directory.resolve("node"));
        node.bundles()
                .install(forge.bundle("org.acme.tool", "1.0.0")
                        .source("Tool", """
                @Component
                @HandlesMessage("tool.uninstall")
                public final class Tool implements MessageHandler {
                    private final org.osgi.framework.BundleContext context;
                    @Activate
                    public Tool(org.osgi.framework.BundleContext context) { this.context = context; }
                    public void handle(Message m, Outbox outbox) {
                        for (org.osgi.framework.Bundle bundle : context.getBundles()) {
                            if (bundle.getSymbolicName().equals("org.acme.count")) {
                                try { bundle.uninstall(); } catch (org.osgi.framework.BundleException e) { throw new IllegalStateException(e); }
                            }
                        }
                        outbox.respond(Value.of("done"));
                    }
                }
                """)
                        .build());
        node.bundles().install(forge.responding(COUNT, "1.0.0", "one"));
        assertThat(node.response()).isEqualTo("one");
    }

    @AfterEach
    void stopNode() {
        node.close();
    }

    private void uninstallByTheOther() {
        assertThat(node.call("tool.uninstall", Map.of()).value()).isEqualTo(Value.of("done"));
    }

    private boolean responds(String text) {
        return node.entry("text.count") != null
                && node.callAsync("text.count", Map.of())
                        .handle((outbox, failure) ->
                                failure == null && outbox.value().equals(Value.of(text)))
                        .join();
    }

    private BundleStatus status(String symbolicName) {
        return node.bundles().list().stream()
                .filter(bundle -> bundle.symbolicName().equals(symbolicName))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void areShownAndInstalledAgain() throws Exception {
        uninstallByTheOther();

        assertThat(status(COUNT).state()).isEqualTo(State.STOPPED);
        assertThat(status(COUNT).problem())
                .hasValueSatisfying(
                        problem -> assertThat(problem).startsWith("another bundle uninstalled it; install it again"));
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().start(COUNT))
                .withMessageContaining("org.acme.count is not there: another bundle uninstalled it");
        node.bundles()
                .install(forge.bundle("org.acme.third", "1.0.0")
                        .handler("Third", "\"text.third\"", "outbox.respond(Value.of(3));")
                        .build());
        assertThat(status("org.acme.third").state()).isEqualTo(State.ACTIVE); // others are not kept from anything

        node.bundles().install(forge.responding(COUNT, "1.0.1", "two"));
        assertThat(node.response()).isEqualTo("two");
        assertThat(status(COUNT).problem()).isEmpty();
        uninstallByTheOther();
        node.bundles().update(forge.responding(COUNT, "1.0.2", "three"));
        assertThat(node.response()).isEqualTo("three");
    }

    @Test
    void areUninstalledSoThatTheyDoNotComeBack() throws Exception {
        uninstallByTheOther();
        BundleStatus removed = node.bundles().uninstall(COUNT);

        assertThat(removed.symbolicName()).isEqualTo(COUNT);
        assertThat(node.bundles().list()).extracting(BundleStatus::symbolicName).doesNotContain(COUNT);
        node.close();
        node = new TestNode(directory.resolve("node"));
        assertThat(node.bundles().installed(COUNT)).isEmpty();
    }

    @Test
    void followTheirFileStill() throws Exception {
        Path file = node.watched.resolve("count.jar");
        Files.copy(forge.responding(COUNT, "2.0.0", "two"), file);
        Waits.until("it is taken", () -> responds("two"));
        uninstallByTheOther();
        Path next = file.resolveSibling(".next");
        Files.copy(forge.responding(COUNT, "3.0.0", "three"), next);
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        Waits.until("the changed file is taken", () -> responds("three"));
        uninstallByTheOther();
        Files.delete(file);
        Waits.until(
                "it is gone with its file",
                () -> node.bundles().installed(COUNT).isEmpty());
    }

    @Test
    void nameThoseThatWaitForWhatWasRemoved() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.provider", "1.0.0")
                        .source("Provider", """
                                @Component(service = java.util.concurrent.Callable.class)
                                public final class Provider implements java.util.concurrent.Callable<String> {
                                    public String call() { return "x"; }
                                }
                                """)
                        .build());
        node.bundles()
                .install(forge.bundle("org.acme.user", "1.0.0")
                        .source("User", """
                                @Component
                                @HandlesMessage("text.user")
                                public final class User implements MessageHandler {
                                    @Activate
                                    public User(@Reference java.util.concurrent.Callable<String> needed) {}
                                    public void handle(Message m, Outbox outbox) { outbox.respond(Value.of("x")); }
                                }
                                """)
                        .build());
        assertThat(status("org.acme.user").state()).isEqualTo(State.ACTIVE);

        assertThat(node.bundles().stop("org.acme.provider").stopped()).isEqualTo(List.of("org.acme.user"));
        assertThat(node.bundles().start("org.acme.provider").stopped()).isEmpty();
        assertThat(status("org.acme.user").state()).isEqualTo(State.ACTIVE);
        assertThat(node.bundles().uninstall("org.acme.provider").stopped()).isEqualTo(List.of("org.acme.user"));
        assertThat(node.bundles().uninstall("org.acme.user").stopped()).isEmpty();
    }

    @Test
    void nameTheVersionThatAnotherJarReplaced() throws Exception {
        assertThat(node.bundles()
                        .install(forge.responding(COUNT, "1.0.1", "two"))
                        .replaced())
                .hasValue("1.0.0");
        assertThat(node.bundles()
                        .update(forge.responding(COUNT, "1.0.0", "one"))
                        .replaced())
                .hasValue("1.0.1");
        assertThat(node.bundles().stop(COUNT).replaced()).isEmpty();
        assertThat(status(COUNT).replaced()).isEmpty();
        assertThat(node.bundles().uninstall(COUNT).replaced()).isEmpty();
    }
}
