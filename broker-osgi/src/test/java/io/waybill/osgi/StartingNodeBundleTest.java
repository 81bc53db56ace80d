package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
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
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests that reach a node while it is starting. */
@Timeout(120)
class StartingNodeBundleTest {

    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .defaultTimeout(Duration.ofSeconds(60))
            .journal(new JournalSettings(Roll.DAILY, 4 << 20, 1 << 20, 2 << 20))
            .build();

    @TempDir
    Path directory;

    private static HandlerRegistry registry() {
        return new HandlerRegistry(
                ParkingSettings.DEFAULT, Host.real().threads(), Host.real().clock());
    }

    private Worker join(String name, HandlerRegistry handlers) throws Exception {
        Home home = Home.open(directory.resolve("home"), Host.real());
        Worker worker = Worker.join(home, name, JoinOptions.defaults(), SETTINGS, handlers);
        worker.ready(Map.of());
        return worker;
    }

    @Test
    void waitForTheBundlesAndAreRefusedWhenNoneHandlesThem() throws Exception {
        BundleForge forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        Files.createDirectories(directory.resolve("node/watched"));
        Files.move(
                forge.bundle("org.acme.count", "1.0.0")
                        .handler("Count", "\"text.count\"", "outbox.response().int64(\"words\", 6);")
                        .build(),
                directory.resolve("node/watched/count.jar"));
        HandlerRegistry registry = registry();
        registry.expectMore();
        try (Worker server = join("ps0", registry);
                Worker caller = join("trainer0", registry())) {
            assertThat(server).isNotNull();
            CompletableFuture<Response> known = caller.callAsync(Request.operation("ps0", "text.count"));
            CompletableFuture<Response> unknown = caller.callAsync(Request.operation("ps0", "text.unknown"));
            Waits.until("both are parked", () -> registry.parkedRequests() == 2);

            try (TestNode node = new TestNode(directory.resolve("node"), registry)) {
                assertThat(node.entry("text.count")).isNotNull();
                try (Response response = known.get(20, TimeUnit.SECONDS)) {
                    assertThat(response.int64("words")).isEqualTo(6);
                }
                assertThatThrownBy(() -> unknown.get(20, TimeUnit.SECONDS))
                        .cause()
                        .isInstanceOfSatisfying(
                                CallException.class,
                                failure -> assertThat(failure.code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION));
            }
        }
    }

    /** It installed a bundle before the framework ran, and the start took that bundle for one of the system's that failed. */
    @Test
    void startsAlthoughItIsAskedForABundleMeanwhile() throws Exception {
        BundleForge forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        String jar = forge.responding("org.acme.count", "1.0.0", "one").toString();
        HandlerRegistry registry = registry();
        registry.expectMore();
        try (Worker server = join("ps0", registry);
                Worker caller = join("trainer0", registry())) {
            assertThat(server).isNotNull();
            List<CompletableFuture<Response>> installs = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                installs.add(caller.callAsync(control("bundle.install", Map.of("path", Value.of(jar)))));
            }
            CompletableFuture<Response> uninstall =
                    caller.callAsync(control("bundle.uninstall", Map.of("name", Value.of("org.acme.other"))));
            Waits.until("all wait", () -> registry.parkedRequests() == 4);

            try (TestNode node = new TestNode(directory.resolve("node"), registry)) {
                for (CompletableFuture<Response> install : installs) {
                    install.get(20, TimeUnit.SECONDS).close();
                }
                assertThatThrownBy(() -> uninstall.get(20, TimeUnit.SECONDS))
                        .cause()
                        .isInstanceOfSatisfying(
                                CallException.class,
                                failure -> assertThat(failure.code()).isEqualTo(ErrorCode.REFUSED));
                assertThat(node.response()).isEqualTo("one");
            }
        }
    }

    private static Request control(String operation, Map<String, Value> fields) {
        return Request.invocation("ps0", MessageType.CONTROL_CALL, new Invocation(operation, List.of(), fields));
    }
}
