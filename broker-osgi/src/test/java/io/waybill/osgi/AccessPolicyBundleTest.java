package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An access policy in a bundle, from its installation to its removal, in a worker. */
@Timeout(120)
class AccessPolicyBundleTest {

    private static final String GUARD = "org.acme.guard";
    private static final String DENY = "return Decision.deny(\"not today\");";
    private static final Duration PARKING = Duration.ofSeconds(3);
    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .defaultTimeout(Duration.ofSeconds(20))
            .journal(new JournalSettings(Roll.DAILY, 4 << 20, 1 << 20, 2 << 20))
            .build();

    @TempDir
    Path directory;

    private BundleForge forge;
    private HandlerRegistry registry;
    private Worker server;
    private Worker caller;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        Home home = Home.open(directory.resolve("home"), Host.real());
        registry = registry();
        server = Worker.join(home, "ps0", JoinOptions.defaults(), SETTINGS, registry);
        caller = Worker.join(home, "trainer0", JoinOptions.defaults(), SETTINGS, registry());
        server.ready(Map.of());
        caller.ready(Map.of());
        node = new TestNode(directory.resolve("node"), registry);
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
    }

    @AfterEach
    void stopNode() throws Exception {
        node.close();
        caller.close();
        server.close();
    }

    private static HandlerRegistry registry() {
        Host host = Host.real();
        return new HandlerRegistry(new ParkingSettings(1_000_000, PARKING.toNanos()), host.threads(), host.clock());
    }

    private BundleForge.Draft guard(String version, String body) {
        return forge.bundle(GUARD, version)
                .source(
                        "Guard",
                        "@Component public final class Guard implements AccessPolicy {\n"
                                + "@Override public Decision decide(AccessRequest request) {\n" + body + "\n}}");
    }

    private static Request count() {
        return Request.operation("ps0", "text.count").timeout(Duration.ofSeconds(20));
    }

    private void assertServed() {
        try (Response response = caller.call(count())) {
            assertThat(response.value()).isEqualTo(Value.of("one"));
        }
    }

    private void assertDenied(String... texts) {
        assertThatThrownBy(() -> caller.call(count()))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.ACCESS_DENIED))
                .hasMessageContainingAll("text.count", "trainer0", GUARD)
                .hasMessageContainingAll(texts);
    }

    @Test
    void isAskedFromItsInstallationToItsRemoval() throws Exception {
        assertServed();
        node.bundles()
                .install(guard(
                                "1.0.0",
                                "return request.workerName().startsWith(\"trainer\") ? Decision.deny(\"no trainers\")"
                                        + " : Decision.allow();")
                        .build());
        assertDenied(GUARD + " 1.0.0", "no trainers");
        try (Response own = server.call(count())) {
            assertThat(own.value()).isEqualTo(Value.of("one"));
        }
        node.bundles().update(guard("1.1.0", "return Decision.allow();").build());
        assertServed();
        node.bundles()
                .update(guard("1.2.0", "throw new AssertionError(\"broken\");").build());
        assertDenied(GUARD + " 1.2.0", "broken");
        node.bundles().uninstall(GUARD);
        assertServed();
    }

    @Test
    void servesTheUsersOfItsSettings() throws Exception {
        Object uid = Files.getAttribute(directory, "unix:uid");
        Path settings = node.conf.resolve("org.acme.peruid.PerUidPolicy.cfg");
        Files.writeString(settings, "uids = 4711\n");
        String source =
                Files.readString(Path.of("../examples/extensions/src/main/java/org/acme/peruid/PerUidPolicy.java"));
        node.bundles()
                .install(forge.bundle(GUARD, "1.0.0")
                        .library("org.acme.peruid", "PerUidPolicy", source.substring(source.indexOf("import")))
                        .header("-privatepackage", "org.acme.peruid")
                        .build());
        Waits.until("it is configured", () -> !isServed());
        assertDenied("uid " + uid + " is not among the uids");
        Files.writeString(settings, "uids = 4711, " + uid + "\n");
        Waits.until("it is configured", this::isServed);
    }

    private boolean isServed() {
        try {
            caller.call(count()).close();
            return true;
        } catch (CallException e) {
            return false;
        }
    }

    private Value.Items listed(String field) {
        Request request =
                Request.invocation("ps0", MessageType.CONTROL_CALL, new Invocation("bundle.list", List.of(), Map.of()));
        try (Response response = caller.call(request)) {
            return (Value.Items) response.value(field);
        }
    }

    private static Value get(Value fields, String name) {
        return ((Value.Dict) fields).entries().get(Value.of(name));
    }

    private Value get(String bundle, String field) {
        return listed("bundles").values().stream()
                .filter(each -> get(each, "name").equals(Value.of(bundle)))
                .map(each -> get(each, field))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void isListedWithItsErrors() throws Exception {
        assertThat(get("org.acme.count", "policy")).isEqualTo(Value.NONE);
        node.bundles()
                .install(guard("1.0.0", "if (request.isOwn()) { return Decision.allow(); } return null;")
                        .build());
        assertThat(get(GUARD, "policy")).isEqualTo(Value.of("ASKED"));
        assertThat(get(GUARD, "failures")).isEqualTo(Value.of(0));
        assertDenied("returned no decision");
        assertDenied("returned no decision");
        assertThat(get(GUARD, "failures")).as("both, although one is logged").isEqualTo(Value.of(2));
        assertThat(get("org.acme.count", "failures")).isEqualTo(Value.of(0));
        assertThat(listed("absentPolicies").values()).isEmpty();
        node.bundles().stop(GUARD);
        assertThat(get(GUARD, "policy")).isEqualTo(Value.of("AWAY"));
        assertThat(get(listed("absentPolicies").values().get(0), "name")).isEqualTo(Value.of(GUARD));
        node.bundles().uninstall(GUARD);
        assertThat(listed("absentPolicies").values()).isEmpty();
        assertServed();
    }

    @Test
    void countsWhatAHandlerThrows() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.bad", "1.0.0")
                        .handler("Bad", "\"text.bad\"", "throw new IllegalStateException(\"planted\");")
                        .build());
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> caller.call(Request.operation("ps0", "text.bad")))
                    .hasMessageContaining("planted");
        }
        assertThat(get("org.acme.bad", "failures")).isEqualTo(Value.of(3));
    }

    @Test
    void isRequiredWhileItIsStopped() throws Exception {
        node.bundles().install(guard("1.0.0", "return Decision.allow();").build());
        assertServed();
        node.bundles().stop(GUARD);
        assertDenied("is away");
        CompletableFuture<Response> waiting = caller.callAsync(count());
        node.bundles().start(GUARD);
        waiting.join().close();
        assertServed();
    }

    @Test
    void isKeptWhenAnUpdateIsRefused() throws Exception {
        node.bundles().install(guard("1.0.0", DENY).build());
        Path broken = forge.bundle(GUARD, "2.0.0")
                .source(
                        "Guard",
                        "@Component public final class Guard implements AccessPolicy {\n"
                                + "@Activate public Guard() { throw new IllegalStateException(\"no\"); }\n"
                                + "@Override public Decision decide(AccessRequest request) { return Decision.allow(); }}")
                .source(
                        "Dud",
                        "@Component(immediate = true) public final class Dud {\n"
                                + "@Activate public Dud() { throw new IllegalStateException(\"no\"); }}")
                .build();
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(broken));
        assertDenied("not today");
    }

    @Test
    void isRequiredWhenItDoesNotStartWithTheNode() throws Exception {
        node.bundles().install(guard("1.0.0", DENY).build());
        node.close();
        Path kept;
        try (var jars = Files.list(directory.resolve("node").resolve("installed"))) {
            kept = jars.filter(jar -> jar.getFileName().toString().contains(GUARD))
                    .findFirst()
                    .orElseThrow();
        }
        Files.copy(
                guard("1.0.0", DENY)
                        .header("Import-Package", "org.acme.missing,*")
                        .build(),
                kept,
                java.nio.file.StandardCopyOption.REPLACE_EXISTING);
        node = new TestNode(directory.resolve("node"), registry);
        assertDenied("is away");
        assertThat(listed("absentPolicies").values())
                .as("what the requests wait for, although it is in no list of bundles")
                .singleElement()
                .satisfies(policy -> assertThat(get(policy, "name")).isEqualTo(Value.of(GUARD)));

        Path other = guard("1.1.0", DENY)
                .header("Import-Package", "org.acme.missing,*")
                .build();
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(other));
        assertDenied("is away"); // an attempt to bring it in does not lift it
        node.bundles().install(guard("1.2.0", DENY).build());
        assertDenied("not today");
    }

    @Test
    void doesNotWaitForWhatItLacks() throws Exception {
        Path lacking = guard("1.0.0", DENY)
                .header("Import-Package", "org.acme.missing,*")
                .build();
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(lacking))
                .withMessageContaining("org.acme.missing");
        assertThat(node.bundles().installed(GUARD)).isEmpty();
        assertServed();
    }

    @Test
    void updatesUnderLoadOpenNoGap() throws Exception {
        node.bundles().install(guard("1.0.0", DENY).build());
        List<Path> versions =
                List.of(guard("1.1.0", DENY).build(), guard("1.2.0", DENY).build());
        AtomicBoolean stop = new AtomicBoolean();
        CompletableFuture<List<String>> traffic = CompletableFuture.supplyAsync(() -> {
            List<String> wrong = new ArrayList<>();
            int calls = 0;
            while (!stop.get() || calls < 100) {
                calls++;
                try {
                    caller.call(count()).close();
                    wrong.add("served");
                } catch (CallException e) {
                    if (e.code() != ErrorCode.ACCESS_DENIED) {
                        wrong.add(e.getMessage());
                    }
                }
            }
            return wrong;
        });
        try {
            for (int i = 0; i < 10; i++) {
                node.bundles().update(versions.get(i % 2));
            }
        } finally {
            stop.set(true);
        }
        assertThat(traffic.join()).isEmpty();
    }
}
