package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.admin.BundleInfo;
import io.waybill.dispatch.HandlerKey;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import io.waybill.worker.FaultyThreads;
import io.waybill.worker.FaultyThreads.Fault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each thread that this module starts in a node, refused once by the host, and interrupted: its role goes on, or the node says in one line that it
 * has no thread for it, and succeeds when it is asked again. The rows are those of the table in {@code docs/hacking/threads.md}; a row of this
 * module without a test fails.
 */
@Timeout(300)
class NodeThreadsBundleTest {

    private static final Path PAGE = Path.of("../docs/hacking/threads.md");
    private static final String HOLD = "waybill.test.hold-thread";
    private static final Map<String, Role> ROLES = new LinkedHashMap<>();

    static {
        ROLES.put("waybill-bundle-watch", NodeThreadsBundleTest::takesJars);
        ROLES.put("waybill-script-watch", NodeThreadsBundleTest::takesScripts);
        ROLES.put("waybill-conf-watch", NodeThreadsBundleTest::takesConfigurations);
        ROLES.put("waybill-handler-<n>", NodeThreadsBundleTest::responds);
        ROLES.put("start <bundle>", NodeThreadsBundleTest::startsAndStops);
        ROLES.put("stop <bundle>", NodeThreadsBundleTest::startsAndStops);
        ROLES.put("uninstall <bundle>", NodeThreadsBundleTest::uninstallsLater);
    }

    @TempDir
    private Path directory;

    private BundleForge forge;
    private FaultyThreads threads;
    private Host machine;
    private TestNode node; // null until it starts

    /** What a role does, seen from outside. */
    @FunctionalInterface
    private interface Role {
        void see(NodeThreadsBundleTest test, int round) throws Exception;
    }

    @FunctionalInterface
    private interface Action {
        void run() throws Exception;
    }

    @BeforeEach
    void prepare() throws IOException {
        System.setProperty(HOLD, "yes");
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
    }

    @AfterEach
    void stopNode() {
        System.clearProperty(HOLD);
        if (node != null) {
            node.close();
        }
    }

    /** Does something, and again if it says that the host gave no thread. */
    private void unlessRefused(Action action) throws Exception {
        try {
            action.run();
        } catch (Exception e) {
            assertThat(threads.hasRefused()).as("refused, so that %s", e).isTrue();
            assertThat(e.getMessage()).doesNotContain("\n").containsAnyOf("no thread for", "gives no thread to");
            action.run();
        }
    }

    private void drop(Path from, Path to) throws IOException {
        Path hidden = to.resolveSibling("." + to.getFileName());
        Files.copy(from, hidden, StandardCopyOption.REPLACE_EXISTING);
        Files.move(hidden, to, StandardCopyOption.ATOMIC_MOVE);
    }

    private void awaitInstalled(String name) {
        Waits.until(name + " is installed", () -> node.bundles().installed(name).isPresent());
    }

    private void takesJars(int round) throws Exception {
        String name = "org.acme.dropped" + round;
        drop(
                forge.bundle(name, "1.0.0")
                        .source("Empty", "public final class Empty {}")
                        .build(),
                node.watched.resolve(name + ".jar"));
        awaitInstalled(name);
    }

    private void takesScripts(int round) throws Exception {
        if (round == 0) {
            node.bundles().install(ScriptRuntime.build(forge, "1.0.0"));
        }
        Path made = Files.writeString(directory.resolve("made.py"), "text");
        drop(made, node.scripts.resolve("module" + round + ".py"));
        HandlerKey key = HandlerKey.parse("function:module" + round + ".f");
        Waits.until(key + " is served", () -> node.registry.table().forKey(key) != null);
    }

    private void takesConfigurations(int round) throws Exception {
        String name = "org.acme.configured" + round;
        node.bundles()
                .install(forge.bundle(name, "1.0.0")
                        .source(
                                "Configured",
                                "@Component(configurationPid = \"" + name + "\","
                                        + " configurationPolicy = ConfigurationPolicy.REQUIRE)"
                                        + " @HandlesMessage(\"text.configured" + round
                                        + "\") public final class Configured implements MessageHandler {"
                                        + " public void handle(Message message, Outbox outbox) {"
                                        + " outbox.respond(Value.of(1)); } }")
                        .build());
        Path made = Files.writeString(directory.resolve("made.cfg"), "some = value\n");
        drop(made, node.conf.resolve(name + ".cfg"));
        Waits.until(name + " is configured", () -> node.entry("text.configured" + round) != null);
    }

    private void responds(int round) throws Exception {
        unlessRefused(() -> node.call("control:bundle.list", Map.of()));
    }

    /** A bundle whose start and stop fail when they find an interrupt. */
    private void startsAndStops(int round) throws Exception {
        String name = "org.acme.alert" + round;
        Path jar = forge.bundle(name, "1.0.0")
                .source(
                        "Activator",
                        "public final class Activator implements BundleActivator {"
                                + " public void start(BundleContext c) { requireNoInterrupt(); }"
                                + " public void stop(BundleContext c) { requireNoInterrupt(); }"
                                + " private static void requireNoInterrupt() { if (Thread.interrupted()) {"
                                + " throw new IllegalStateException(\"an interrupt of something else\"); } } }")
                .header("Bundle-Activator", "acme.Activator")
                .build();
        unlessRefused(() -> node.bundles().install(jar));
        unlessRefused(() -> node.bundles().stop(name));
        assertThat(node.bundles().list())
                .filteredOn(bundle -> bundle.symbolicName().equals(name))
                .singleElement()
                .satisfies(bundle -> {
                    assertThat(bundle.state()).isEqualTo(BundleInfo.State.STOPPED);
                    assertThat(bundle.problem()).isEmpty();
                });
        unlessRefused(() -> node.bundles().start(name));
        unlessRefused(() -> node.bundles().uninstall(name));
        assertThat(node.bundles().installed(name)).isEmpty();
    }

    /** A bundle that hangs in its start, and is uninstalled when that returns. */
    private void uninstallsLater(int round) throws Exception {
        String name = "org.acme.hanging" + round;
        Path jar = forge.bundle(name, "1.0.0")
                .source(
                        "Activator",
                        "public final class Activator implements BundleActivator {"
                                + " public void start(BundleContext c) {"
                                + " while (System.getProperty(\"" + HOLD + "\") != null) {"
                                + " java.util.concurrent.locks.LockSupport.parkNanos(1_000_000); Thread.interrupted(); } }"
                                + " public void stop(BundleContext c) {} }")
                .header("Bundle-Activator", "acme.Activator")
                .build();
        System.setProperty(HOLD, "yes");
        assertThatThrownBy(() -> node.bundles().install(jar)).hasMessageContaining("did not start within");
        node.bundles().uninstall(name);
        System.clearProperty(HOLD);
        Waits.until(name + " is uninstalled, and its class loader collected", () -> {
            machine.threads().retry(); // as the housekeeper of a node's worker does
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }

    static Stream<Arguments> faults() {
        return ROLES.keySet().stream().flatMap(row -> Stream.of(Fault.values()).map(fault -> Arguments.of(row, fault)));
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("faults")
    void goesOn(String row, Fault fault) throws Exception {
        threads = new FaultyThreads(fault, namesOf(row));
        machine = Host.real().withThreads(threads);
        unlessRefused(() -> node = TestNode.on(machine, directory.resolve("node"), Duration.ofSeconds(2)));
        Role role = ROLES.get(row);
        role.see(this, 0);
        assertThat(threads.interrupt()).as("threads that were started").isPositive();
        assertThat(threads.hasRefused()).isEqualTo(fault == Fault.REFUSED_ONCE);
        role.see(this, 1);
        assertThat(machine.threads().late()).as("threads that never started").isZero();
    }

    private static Pattern namesOf(String row) {
        return Pattern.compile(row.replaceAll("<n>", "[0-9]+").replaceAll("<bundle>", "org.acme..+"));
    }

    @Test
    void areAllInTheTable() throws IOException {
        String page = Files.readString(PAGE);
        String table = page.substring(page.indexOf("## Threads of a node"), page.indexOf("Programs have a few more"));
        Matcher rows = Pattern.compile("(?m)^\\| (`[^|]+`) \\|[^|]+\\| `io\\.waybill\\.osgi\\.[^|]+\\|$")
                .matcher(table);
        assertThat(ROLES.keySet())
                .as("the threads of a node in %s that this module starts", PAGE)
                .containsExactlyInAnyOrderElementsOf(rows.results()
                        .flatMap(row -> Pattern.compile("`([^`]+)`")
                                .matcher(row.group(1))
                                .results())
                        .map(name -> name.group(1))
                        .toList());
    }
}
