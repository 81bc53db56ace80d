package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.api.MessageType;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.HandlerTable.Absence;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.testing.core.Waits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class BundleControlBundleTest {

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        node = new TestNode(directory.resolve("node"));
    }

    @AfterEach
    void stopNode() {
        node.close();
    }

    @Test
    void givesAHandlerItsKeysWhenItsBundleIsInstalled() throws Exception {
        Path jar = forge.bundle("org.acme.count", "1.2.3")
                .handler("Count", "\"text.count\", \"SCRIPT_CALL\", \"0x142\"", "outbox.respond(Value.of(\"one\"));")
                .build();

        BundleStatus status = node.bundles().install(jar);

        assertThat(status.state()).isEqualTo(BundleInfo.State.ACTIVE);
        assertThat(status.version()).isEqualTo("1.2.3");
        assertThat(status.sha256()).hasSize(64);
        assertThat(node.response()).isEqualTo("one");
        assertThat(node.registry.table().forType(MessageType.SCRIPT_CALL.code()))
                .isNotNull();
        assertThat(node.registry.table().forType(0x142).provider().toString()).isEqualTo("org.acme.count 1.2.3");
    }

    @Test
    void runsABlockingHandlerUnlessItSaysOtherwise() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        assertThat(node.entry("text.count").nonBlocking()).isFalse();

        node.bundles()
                .install(forge.bundle("org.acme.count", "1.0.1")
                        .source(
                                "Count",
                                "@Component @NonBlocking @HandlesMessage(\"text.count\") public final class Count implements"
                                        + " MessageHandler { public void handle(Message m, Outbox o) {} }")
                        .build());
        assertThat(node.entry("text.count").nonBlocking()).isTrue();
    }

    @Test
    void readsAHandlersDelivery() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        assertThat(node.entry("text.count").delivery()).isEqualTo(DeliveryPolicy.AT_MOST_ONCE);

        node.bundles().install(withDelivery("1.0.1", "Delivery.AT_LEAST_ONCE"));
        assertThat(node.entry("text.count").delivery()).isEqualTo(DeliveryPolicy.AT_LEAST_ONCE);

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(withDelivery("1.0.2", "\"exactly-once\"")))
                .withMessageContaining("a handler's delivery is at-most-once or at-least-once, not \"exactly-once\"");
    }

    private Path withDelivery(String version, String delivery) throws Exception {
        return forge.bundle("org.acme.count", version)
                .source(
                        "Count",
                        "@Component @Delivery(" + delivery
                                + ") @HandlesMessage(\"text.count\") public final class Count"
                                + " implements MessageHandler { public void handle(Message m, Outbox o) {} }")
                .build();
    }

    @Test
    void replacesABundleOfTheSameName() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        node.bundles().install(forge.responding("org.acme.count", "2.0.0", "two"));

        assertThat(node.response()).isEqualTo("two");
        assertThat(node.bundles().list())
                .filteredOn(bundle -> bundle.kind() == BundleInfo.Kind.HANDLER)
                .extracting(BundleStatus::symbolicName, BundleStatus::version)
                .containsExactly(tuple("org.acme.count", "2.0.0"));
        assertThat(node.registry.statuses())
                .filteredOn(handler -> handler.key().text().equals("text.count"))
                .extracting(HandlerStatus::state, handler -> handler.provider().version())
                .containsExactly(tuple(HandlerInfo.State.SERVING, "2.0.0"));
    }

    @Test
    void refusesABundleThatClaimsWhatAnotherHandles() throws Exception {
        for (String key : new String[] {"text.count", "py.*", "*", "0x142", "type:*"}) {
            node.bundles().install(claiming("org.acme.first", "1.0.0", key));
            assertThatExceptionOfType(BundleRefusedException.class)
                    .isThrownBy(() -> node.bundles().install(claiming("org.acme.second", "1.0.0", key)))
                    .withMessageContainingAll("org.acme.second 1.0.0", "org.acme.first 1.0.0");

            node.bundles().update(claiming("org.acme.first", "1.1.0", key));
            node.bundles().stop("org.acme.first");
            node.bundles().install(claiming("org.acme.second", "1.0.0", key));
            assertThatExceptionOfType(BundleRefusedException.class)
                    .isThrownBy(() -> node.bundles().start("org.acme.first"))
                    .withMessageContainingAll("org.acme.first 1.1.0", "org.acme.second 1.0.0");
            node.bundles().uninstall("org.acme.first");
            node.bundles().uninstall("org.acme.second");
        }
    }

    private Path claiming(String symbolicName, String version, String key) throws Exception {
        return forge.bundle(symbolicName, version)
                .handler("Own", "\"own." + symbolicName + "\"", "outbox.respond(Value.of(1));")
                .handler("Claiming", "\"" + key + "\"", "outbox.respond(Value.of(1));")
                .build();
    }

    @Test
    void aGatewayGetsWhatNoOtherBundleHandles() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.gateway", "1.0.0")
                        .handler("Gateway", "\"*\", \"type:*\"", "outbox.respond(Value.of(\"gateway\"));")
                        .build());
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));

        assertThat(node.response()).isEqualTo("one");
        assertThat(node.entry("text.other").provider().name()).isEqualTo("org.acme.gateway");
        assertThat(node.registry.table().forType(0x177).provider().name()).isEqualTo("org.acme.gateway");
        assertThat(node.registry.statuses())
                .extracting(handler -> handler.key().text())
                .contains("*", "type:*", "text.count");

        node.bundles().stop("org.acme.count");
        assertThat(node.entry("text.count")).isNull();
    }

    @Test
    void replacesABundleThatMayBeThereOnlyOnce() throws Exception {
        for (String version : new String[] {"1.0.0", "2.0.0"}) {
            node.bundles()
                    .install(forge.bundle("org.acme.count", version)
                            .header("Bundle-SymbolicName", "org.acme.count;singleton:=true")
                            .handler("Count", "\"text.count\"", "outbox.respond(Value.of(\"" + version + "\"));")
                            .build());
            assertThat(node.response()).isEqualTo(version);
        }
    }

    @Test
    void refusesWhatDoesNotResolveAndLeavesTheOldOneRunning() throws Exception {
        Path library = forge.bundle("org.acme.library", "1.0.0")
                .library("org.lib", "Lib", "public class Lib { public static String text() { return \"lib\"; } }")
                .header("-privatepackage", "none")
                .header("Export-Package", "org.lib;version=3.1.0")
                .build();
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        Path needy = forge.bundle("org.acme.count", "2.0.0")
                .handler("Count", "\"text.count\"", "outbox.respond(Value.of(\"two\"));")
                .header("Import-Package", "org.lib;version=\"[1.0,2)\",*")
                .build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(needy))
                .withMessage(
                        "org.acme.count 2.0.0 does not resolve: needs package org.lib [1.0.0,2.0.0): no bundle exports it;"
                                + " install the bundle that exports it, or build this one with -conditionalpackage:"
                                + " org.lib to take the library along, or with Import-Package: org.lib;resolution:=optional, *"
                                + " if it can do without")
                .extracting(BundleRefusedException::reason)
                .isEqualTo(Reason.UNRESOLVED);
        assertThat(node.response()).isEqualTo("one");

        node.bundles().install(library);
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update("org.acme.count", needy))
                .withMessageContaining("needs package org.lib [1.0.0,2.0.0): it is exported as 3.1.0 only");
        assertThat(node.response()).isEqualTo("one");
        assertThat(node.bundles().list())
                .filteredOn(bundle -> bundle.symbolicName().equals("org.acme.count"))
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactly(tuple("1.0.0", BundleInfo.State.ACTIVE));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void putsTheOldOneBackWhenTheNewOneThrowsOnStart(boolean exclusive) throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        BundleForge.Draft draft = forge.bundle("org.acme.count", "2.0.0")
                .handler("Count", "\"text.count\"", "outbox.respond(Value.of(\"two\"));")
                .source(
                        "Activator",
                        "public final class Activator implements BundleActivator {"
                                + " public void start(BundleContext c) { throw new IllegalStateException(\"no licence\"); }"
                                + " public void stop(BundleContext c) {} }")
                .header("Bundle-Activator", "acme.Activator");
        Path broken = (exclusive ? draft.exclusive() : draft).build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(broken))
                .withMessageContaining(
                        "org.acme.count 2.0.0 was not taken: java.lang.IllegalStateException: no licence")
                .withMessageContaining(
                        "org.acme.count 1.0.0 " + (exclusive ? "is in its place again" : "still serves"));
        assertThat(node.response()).isEqualTo("one");
        assertThat(node.bundles().list())
                .filteredOn(bundle -> bundle.symbolicName().equals("org.acme.count"))
                .allMatch(bundle -> bundle.problem().orElse("").contains("no licence"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void putsTheOldOneBackWhenAComponentOfTheNewOneThrows(boolean exclusive) throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        BundleForge.Draft draft = forge.bundle("org.acme.count", "2.0.0")
                .source(
                        "Count",
                        "@Component @HandlesMessage(\"text.count\") public final class Count implements MessageHandler {"
                                + " @Activate public Count() { throw new IllegalStateException(\"no dictionary\"); }"
                                + " public void handle(Message m, Outbox o) {} }");
        Path broken = (exclusive ? draft.exclusive() : draft).build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(broken))
                .withMessageContaining("acme.Count could not be activated")
                .withMessageContaining("no dictionary")
                .withMessageContaining("1.0.0 " + (exclusive ? "is in its place again" : "still serves"));
        assertThat(node.response()).isEqualTo("one");
    }

    @Test
    void refusesAHandlerOfSomethingThatIsNone() throws Exception {
        Path jar = forge.bundle("org.acme.count", "1.0.0")
                .handler("Count", "\"SCRIPT_CAL\"", "")
                .build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContaining("SCRIPT_CAL");
    }

    /** Which would take the node's processor for half a minute, and its log. */
    @Test
    void refusesAHandlerOfMoreThanAnyoneCanName() throws Exception {
        Path jar = forge.bundle("org.acme.count", "1.0.0")
                .header("Bundle-Activator", "acme.Publishes")
                .source(
                        "Publishes",
                        "public final class Publishes implements BundleActivator {"
                                + " public void start(BundleContext c) {"
                                + " String[] names = new String[200_000];"
                                + " for (int i = 0; i < names.length; i++) names[i] = \"text.n\" + i;"
                                + " Hashtable<String, Object> properties = new Hashtable<>();"
                                + " properties.put(\"waybill.handles.message\", names);"
                                + " c.registerService(MessageHandler.class, (m, o) -> { }, properties); }"
                                + " public void stop(BundleContext c) {} }")
                .build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContaining("at most 10000 types and operations, and one declares 200000");
    }

    @Test
    void keepsControlOperationsFromBundles() throws Exception {
        Path jar = forge.bundle("org.acme.count", "1.0.0")
                .handler("Count", "\"control:bundle.list\"", "")
                .build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContaining("control operations are the node's own");
    }

    @ParameterizedTest
    @ValueSource(strings = {"NAMED_CALL", "0x1f0", "0x1f1", "RREF_USER_DELETE", "SCRIPT_REMOTE_CALL"})
    void keepsTypesThatTheWorkerServesFromBundles(String type) throws Exception {
        Path jar = forge.bundle("org.acme.count", "1.0.0")
                .handler("Count", '"' + type + '"', "")
                .build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContaining(" is the worker's own: a handler takes an operation");
    }

    @Test
    void letsRequestsParkWhileABundleIsStopped() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));

        node.bundles().stop("org.acme.count");
        assertThat(node.entry("text.count")).isNull();
        assertThat(node.absence("text.count")).isEqualTo(Absence.LEFT);
        node.bundles().start("org.acme.count");
        assertThat(node.response()).isEqualTo("one");
    }

    @Test
    void leavesAStoppedBundleStoppedWhenItIsUpdated() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        node.bundles().stop("org.acme.count");

        assertThat(node.bundles()
                        .update(forge.responding("org.acme.count", "2.0.0", "two"))
                        .state())
                .isEqualTo(BundleInfo.State.STOPPED);
        node.bundles().start("org.acme.count");
        assertThat(node.response()).isEqualTo("two");
    }

    @Test
    void forgetsABundleThatIsUninstalled() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        node.bundles().uninstall("org.acme.count");

        assertThat(node.entry("text.count")).isNull();
        assertThat(node.bundles().list()).noneMatch(bundle -> bundle.kind() == BundleInfo.Kind.HANDLER);
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().stop("org.acme.count"))
                .withMessageContaining("no bundle org.acme.count is installed; there are none");
    }

    @Test
    void leavesTheSystemsBundlesAlone() {
        assertThat(node.bundles().list())
                .extracting(BundleStatus::symbolicName)
                .contains("org.apache.felix.scr", "org.apache.felix.configadmin");
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().uninstall("org.apache.felix.scr"))
                .extracting(BundleRefusedException::reason)
                .isEqualTo(Reason.SYSTEM_BUNDLE);
    }

    @Test
    void refusesToUpdateABundleWithAnother() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        Path other = forge.responding("org.acme.other", "1.0.0", "other");

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update("org.acme.count", other))
                .withMessageContaining("is org.acme.other");
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(other))
                .extracting(BundleRefusedException::reason)
                .isEqualTo(Reason.UNKNOWN_BUNDLE);
    }

    @Test
    void passesConvertersOn() throws Exception {
        Path jar = forge.bundle("org.acme.device", "1.0.0")
                .source(
                        "Converter",
                        "@Component @ConvertsDevice(\"xpu\") public final class Converter implements DeviceConverter {"
                                + " public Optional<String> unavailable() { return Optional.of(\"none here\"); }"
                                + " public Optional<Storage> prepareForSending(Storage s, List<DeviceStream> l, TensorBuffers b)"
                                + " { return Optional.empty(); }"
                                + " public Storage allocateForReceiving(Storage a, Device t, List<DeviceStream> s)"
                                + " { return a; } }")
                .build();

        node.bundles().install(jar);
        assertThat(node.converters.get("xpu").unavailable()).contains("none here");
        node.bundles().stop("org.acme.device");
        assertThat(node.converters).isEmpty();
    }

    @Test
    void setsTheHandlersOwnContextClassLoader() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.count", "1.0.0")
                        .handler(
                                "Count",
                                "\"text.count\"",
                                "outbox.respond(Value.of(\"\" + (Thread.currentThread().getContextClassLoader()"
                                        + " == getClass().getClassLoader())));")
                        .build());

        assertThat(node.response()).isEqualTo("true");
    }

    @Test
    void endsTheThreadsOfABundleWithTheBundle() throws Exception {
        node.bundles().install(forge.responding("org.acme.ended", "1.0.0", "one"));
        node.response();
        assertThat(threadsOf("org.acme.ended")).isPositive();

        node.bundles().stop("org.acme.ended");
        Waits.until("its threads are gone", () -> threadsOf("org.acme.ended") == 0);
    }

    private static long threadsOf(String provider) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(provider + "-handler-"))
                .count();
    }

    @Test
    void logsWithTheNodesLoggers() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.count", "1.0.0")
                        .handler(
                                "Count",
                                "\"text.count\"",
                                "org.slf4j.LoggerFactory.getLogger(\"acme\").debug(\"counted\");"
                                        + " outbox.respond(Value.of(\"one\"));")
                        .build());

        assertThat(node.call("text.count", Map.of()).value()).isNotNull();
    }
}
