package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.admin.Admin;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.admin.BundleInfo.State;
import io.waybill.api.admin.BundleList;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Administration of a node by another worker. */
@Timeout(120)
class AdminBundleTest {

    private static final String COUNT = "org.acme.count";

    @TempDir
    Path directory;

    private BundleForge forge;
    private Worker server;
    private Worker caller;
    private HandlerRegistry callersHandlers;
    private TestNode node;
    private Admin admin;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        Home home = Home.open(directory.resolve("home"), Host.real());
        HandlerRegistry registry = registry();
        callersHandlers = registry();
        WorkerSettings settings = WorkerSettings.builder().build();
        server = Worker.join(home, "ps0", JoinOptions.defaults(), settings, registry);
        caller = Worker.join(home, "operator", JoinOptions.defaults(), settings, callersHandlers);
        server.ready(Map.of());
        caller.ready(Map.of());
        node = new TestNode(directory.resolve("node"), registry);
        admin = Admin.of(caller).withLimit(Duration.ofSeconds(60));
    }

    @AfterEach
    void stopNode() throws Exception {
        node.close();
        caller.close();
        server.close();
    }

    private static HandlerRegistry registry() {
        Host host = Host.real();
        return new HandlerRegistry(
                new ParkingSettings(1_000, Duration.ofSeconds(3).toNanos()), host.threads(), host.clock());
    }

    private Path count(String version) throws Exception {
        return forge.responding(COUNT, version, version);
    }

    private static void assertFails(ErrorCode code, String text, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(code))
                .hasMessageContaining(text);
    }

    private Optional<BundleInfo> listed(String name) {
        return admin.bundles("ps0").bundles().stream()
                .filter(bundle -> bundle.name().equals(name))
                .findFirst();
    }

    @Test
    void takesABundleFromItsInstallationToItsRemoval() throws Exception {
        BundleInfo installed = admin.install("ps0", count("1.0.0"));
        assertThat(installed)
                .extracting(BundleInfo::name, BundleInfo::version, BundleInfo::state, BundleInfo::kind)
                .containsExactly(COUNT, "1.0.0", State.ACTIVE, BundleInfo.Kind.HANDLER);
        assertThat(admin.update("ps0", count("2.0.0")).replaced()).contains("1.0.0");
        assertThat(admin.update("ps0", COUNT, count("3.0.0")).version()).isEqualTo("3.0.0");
        assertThat(admin.stop("ps0", COUNT).state()).isEqualTo(State.STOPPED);
        assertThat(admin.start("ps0", COUNT).state()).isEqualTo(State.ACTIVE);
        assertThat(listed(COUNT)).get().extracting(BundleInfo::version).isEqualTo("3.0.0");
        assertThat(listed(COUNT).orElseThrow().since()).isPresent();
        admin.uninstall("ps0", COUNT);
        assertThat(listed(COUNT)).isEmpty();
        assertThat(listed("org.apache.felix.framework").orElseThrow().since())
                .as("when the framework entered its state, which is not known")
                .isEmpty();
    }

    private HandlerInfo count() {
        return admin.handlers("ps0").stream()
                .filter(handler -> handler.key().equals("text.count"))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void showsWhoHandlesWhat() throws Exception {
        admin.install("ps0", count("1.0.0"));
        caller.call(Request.operation("ps0", "text.count")).close();
        Waits.until("the request is counted, after its response was sent", () -> count().done() == 1);
        assertThat(count())
                .extracting(HandlerInfo::state, HandlerInfo::provider, HandlerInfo::delivery)
                .containsExactly(HandlerInfo.State.SERVING, COUNT, "at-most-once");
        assertThat(admin.scripts("ps0")).isEmpty();
        assertThat(admin.leakedLoaders("ps0", Duration.ZERO)).isEmpty();
        assertThat(admin.references("ps0", 10).counters()).containsEntry("num_owner_rrefs", 0L);
    }

    @Test
    void failsWithTheReasonOfTheNode() {
        assertFails(ErrorCode.REFUSED, "no bundle no.such is installed", () -> admin.stop("ps0", "no.such"));
        assertFails(ErrorCode.REFUSED, "nothing is at", () -> admin.install("ps0", directory.resolve("none.jar")));
        assertFails(ErrorCode.UNKNOWN_OPERATION, "bundle.list", () -> admin.bundles("operator"));
        assertFails(ErrorCode.REFUSED, "limit must be", () -> admin.references("ps0", -1));
    }

    @Test
    void refusesAResponseThatIsNoList() {
        respond("bundle.list", (message, outbox) -> outbox.response().text("bundles", "none"));
        assertFails(
                ErrorCode.MALFORMED_BODY, "the entry bundles must be of kind list", () -> admin.bundles("operator"));
    }

    @Test
    void replacesNoBundleByOneOfAnotherName() throws Exception {
        admin.install("ps0", count("1.0.0"));
        Path other = forge.responding("org.acme.renamed", "1.0.0", "renamed");
        assertFails(
                ErrorCode.REFUSED,
                "is org.acme.renamed, and " + COUNT + " was to be updated",
                () -> admin.update("ps0", COUNT, other));
        assertThat(listed(COUNT)).isPresent();
    }

    @Test
    void saysWhetherANodeStartsAgain() {
        List<Map<String, Value>> asked = new CopyOnWriteArrayList<>();
        respond("node.stop", (message, outbox) -> {
            asked.add(message.invocation().named());
            outbox.response();
        });
        admin.stopNode("operator");
        admin.restartNode("operator");
        assertThat(asked).containsExactly(Map.of(), Map.of("restart", Value.of(true)));
    }

    /** Lets the caller's worker, which is no node, handle a control operation. */
    private void respond(String operation, MessageHandler handler) {
        Provider self = new Provider("program", "1.0.0");
        HandlerExecutor executor = callersHandlers.newExecutor(self, ExecutorSettings.forProcessors(1));
        callersHandlers.add(HandlerSpec.of(HandlerKey.parse("control:" + operation), handler, self, executor));
    }

    /** Only the node itself may change bundles, and the list is free for all. */
    private static final String GUARD = "@Component public final class Guard implements AccessPolicy {\n"
            + "@Override public Decision decide(AccessRequest request) {\n"
            + "return request.isOwn() || !request.operation().startsWith(\"bundle.\")"
            + " || request.operation().equals(\"bundle.list\")"
            + " ? Decision.allow() : Decision.deny(\"not \" + request.workerName()); }\n"
            + "@Override public boolean decidesControlCalls() { return true; }}";

    @Test
    void showsWhetherABundlePolicyIsAsked() throws Exception {
        admin.install(
                "ps0",
                forge.bundle("org.acme.gate", "1.0.0")
                        .source(
                                "Gate",
                                "@Component public final class Gate implements BundlePolicy {\n"
                                        + "@Override public Decision decide(BundleCandidate candidate) {\n"
                                        + "return Decision.deny(\"nothing\");\n}}")
                        .build());
        assertThat(listed("org.acme.gate").flatMap(BundleInfo::policy)).contains(BundleInfo.Policy.ASKED);
        assertFails(ErrorCode.REFUSED, "refuses it: nothing", () -> admin.install("ps0", count("1.0.0")));
        admin.stop("ps0", "org.acme.gate");
        assertThat(listed("org.acme.gate").flatMap(BundleInfo::policy)).contains(BundleInfo.Policy.AWAY);
        assertFails(ErrorCode.REFUSED, "is away", () -> admin.install("ps0", count("1.0.0")));
    }

    @Test
    void asksAPolicyThatDecidesAboutControlCalls() throws Exception {
        admin.install("ps0", count("1.0.0"));
        node.bundles()
                .install(forge.bundle("org.acme.guard", "1.0.0")
                        .source("Guard", GUARD)
                        .build());
        assertFails(
                ErrorCode.ACCESS_DENIED,
                "bundle.uninstall is refused to worker operator",
                () -> admin.uninstall("ps0", COUNT));
        assertFails(ErrorCode.ACCESS_DENIED, "not operator", () -> admin.stop("ps0", "org.acme.guard"));
        BundleList list = admin.bundles("ps0");
        assertThat(list.bundles())
                .filteredOn(bundle -> bundle.kind() == BundleInfo.Kind.HANDLER)
                .extracting(BundleInfo::name, BundleInfo::state, BundleInfo::policy)
                .containsExactlyInAnyOrder(
                        tuple(COUNT, State.ACTIVE, Optional.empty()),
                        tuple("org.acme.guard", State.ACTIVE, Optional.of(BundleInfo.Policy.ASKED)));
        assertThat(Admin.of(server).stop("ps0", COUNT).state()).isEqualTo(State.STOPPED);

        node.bundles().stop("org.acme.guard"); // away: a command can bring it back
        assertThat(listed("org.acme.guard"))
                .get()
                .extracting(BundleInfo::policy)
                .isEqualTo(Optional.of(BundleInfo.Policy.AWAY));
        assertThat(admin.start("ps0", "org.acme.guard").state()).isEqualTo(State.ACTIVE);
        assertFails(ErrorCode.ACCESS_DENIED, "not operator", () -> admin.uninstall("ps0", COUNT));
    }
}
