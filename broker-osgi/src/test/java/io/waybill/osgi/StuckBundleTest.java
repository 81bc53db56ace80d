package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.admin.LoaderInfo;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A bundle whose handlers never return, in a worker, and the way out: another version. */
@Timeout(120)
class StuckBundleTest {

    private static final int MAX = 2;
    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .defaultTimeout(Duration.ofSeconds(20))
            .stuck(new StuckSettings(Duration.ofMillis(100).toNanos(), 0, MAX))
            .journal(new JournalSettings(Roll.DAILY, 4 << 20, 1 << 20, 2 << 20))
            .build();

    /** Deaf to interrupts, until the test removes the property of this name. */
    private static final String HANG = """
            while (System.getProperty("waybill.test.hold") != null) {
                java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                Thread.interrupted();
            }
            outbox.respond(Value.of("late"));
            """;

    @TempDir
    Path directory;

    private BundleForge forge;
    private Worker server;
    private Worker caller;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        System.setProperty("waybill.test.hold", "yes");
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        Home home = Home.open(directory.resolve("home"), Host.real());
        HandlerRegistry registry = registry();
        server = Worker.join(home, "ps0", JoinOptions.defaults(), SETTINGS, registry);
        caller = Worker.join(home, "trainer0", JoinOptions.defaults(), SETTINGS, registry());
        server.ready(Map.of());
        caller.ready(Map.of());
        node = new TestNode(directory.resolve("node"), registry, Duration.ofMillis(200));
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
    }

    @AfterEach
    void stopNode() throws Exception {
        System.clearProperty("waybill.test.hold");
        node.close();
        caller.close();
        server.close();
    }

    private static HandlerRegistry registry() {
        Host host = Host.real();
        return new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
    }

    private Path hanging(String annotation) throws Exception {
        return forge.bundle("org.acme.hang", "1.0.0")
                .source(
                        "Hang",
                        annotation + " @Component @HandlesMessage(\"text.hang\") public final class Hang"
                                + " implements MessageHandler {\n"
                                + "@Override public void handle(Message message, Outbox outbox) {\n" + HANG + "}}")
                .build();
    }

    private Path fixed() throws Exception {
        return forge.bundle("org.acme.hang", "2.0.0")
                .handler("Hang", "\"text.hang\"", "outbox.respond(Value.of(\"mended\"));")
                .build();
    }

    private CompletableFuture<Response> send(String operation, Duration timeout) {
        return caller.callAsync(Request.operation("ps0", operation).timeout(timeout));
    }

    private Value respond(String operation) {
        try (Response response = caller.call(Request.operation("ps0", operation))) {
            return response.value();
        }
    }

    private static void assertStuck(CompletableFuture<Response> call, String text) {
        assertThatThrownBy(call::join)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_STUCK))
                .hasMessageContaining(text);
    }

    private static Value get(Value dict, String name) {
        return ((Value.Dict) dict).entries().get(Value.of(name));
    }

    private List<Value> list(String operation, String field) {
        return ((Value.Items) node.call(operation, Map.of()).field(field)).values();
    }

    private void hangUntilOutOfService() {
        for (int i = 0; i < MAX; i++) {
            send("text.hang", Duration.ofSeconds(2)); // it must begin before that
        }
        Waits.until("it is out of service", () -> server.stuck().contains("text.hang"));
        assertStuck(send("text.hang", Duration.ZERO), "org.acme.hang 1.0.0 is out of service for text.hang");
        assertThat(respond("text.count")).isEqualTo(Value.of("one"));
    }

    private void updateAndRelease() throws Exception {
        node.bundles().update(fixed());

        assertThat(respond("text.hang")).isEqualTo(Value.of("mended"));
        assertThat(server.stuck()).isEmpty();
        System.gc();
        assertThat(node.host.loaders().leaked(Duration.ZERO))
                .extracting(LoaderInfo::name, LoaderInfo::version)
                .containsExactly(tuple("org.acme.hang", "1.0.0"));

        System.clearProperty("waybill.test.hold");
        Waits.until("the old class loader is collected when its threads came back", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
        assertThat(respond("text.hang")).isEqualTo(Value.of("mended"));
    }

    @Test
    void isTakenOutOfServiceAndShownAndReplaced() throws Exception {
        node.bundles().install(hanging(""));
        hangUntilOutOfService();

        assertThat(list("control:handlers.list", "handlers"))
                .filteredOn(handler -> get(handler, "key").equals(Value.of("text.hang")))
                .extracting(handler -> get(handler, "state"), handler -> get(handler, "stuck"))
                .containsExactly(tuple(Value.of("STUCK"), Value.of(MAX)));
        assertThat(list("control:bundle.list", "bundles"))
                .filteredOn(bundle -> !get(bundle, "stuck").equals(Value.of(0)))
                .extracting(bundle -> get(bundle, "name"), bundle -> get(bundle, "stuck"))
                .containsExactly(tuple(Value.of("org.acme.hang"), Value.of(MAX)));
        updateAndRelease();
    }

    @Test
    void isReplacedWhenItsHandlerIsNonBlocking() throws Exception {
        node.bundles().install(hanging("@NonBlocking"));
        CompletableFuture<Response> forEver = send("text.hang", Duration.ZERO);
        Waits.until("it runs", () -> node.entry("text.hang").inFlight() == 1);
        assertThat(respond("text.count")).isEqualTo(Value.of("one"));
        hangUntilOutOfService();

        updateAndRelease();
        assertStuck(forEver, "org.acme.hang 1.0.0 did not finish");
    }
}
