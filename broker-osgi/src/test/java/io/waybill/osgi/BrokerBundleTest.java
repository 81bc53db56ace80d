package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Value;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The {@link io.waybill.api.broker.Broker} of a bundle in a real framework and a real home, while the bundle is updated. */
@Timeout(240)
class BrokerBundleTest {

    /** Keeps everything that can be kept, and forgets to close it. */
    private static final String CARELESS = """
            @Component
            @HandlesMessage("text.count")
            public final class Count implements MessageHandler {
                private final Broker broker;

                @Activate
                public Count(@Reference Broker broker) {
                    this.broker = broker;
                    broker.listen(new PeerListener() {
                        @Override
                        public void joined(Incarnation peer) {
                            mark("listener." + peer.worker().name());
                        }
                    });
                    tick();
                    broker.gauge("calls-now", () -> {
                        mark("gauge");
                        return broker.counter("calls").sum();
                    });
                    broker.schedule(java.time.Duration.ofHours(1), () -> mark("never"));
                    broker.caller().callAsync(Request.operation("peer", "text.hang").timeout(java.time.Duration.ZERO))
                            .whenComplete((response, failure) -> mark("failed." + failure.getMessage()));
                }

                private void tick() {
                    mark("tick");
                    broker.schedule(java.time.Duration.ofMillis(5), this::tick);
                }

                private static void mark(String what) {
                    System.setProperty("waybill.test.VERSION." + what, "yes");
                }

                @Override
                public void handle(Message message, Outbox outbox) {
                    broker.counter("calls").increment();
                    outbox.respond(Value.of("VERSION " + broker.self().worker().name() + " " + broker.counter("calls").sum()));
                }
            }
            """;

    @TempDir
    Path directory;

    private BundleForge forge;
    private Workers workers;
    private Worker worker;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("waybill.test."))
                .forEach(System::clearProperty);
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        worker = workers.join("node");
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, "text.hang", (message, outbox) -> outbox.later());
        workers.join("peer", registry);
        node = new TestNode(directory.resolve("node"), worker.brokers());
    }

    @AfterEach
    void stop() throws Exception {
        node.close();
        workers.close();
    }

    private Path careless(String version) throws Exception {
        return forge.bundle("org.acme.count", version)
                .source("Count", CARELESS.replace("VERSION", version))
                .build();
    }

    private static boolean marked(String version, String what) {
        return System.getProperty("waybill.test." + version + "." + what) != null;
    }

    @Test
    void revokesTheBrokerOfAnUpdatedBundleAndLetsItsLoaderGo() throws Exception {
        node.bundles().install(careless("1.0.0"));
        assertThat(node.response()).isEqualTo("1.0.0 node 1");
        Waits.until("its listener is called", () -> marked("1.0.0", "listener.peer"));
        Waits.until("its timer runs", () -> marked("1.0.0", "tick"));
        Waits.until("its gauge is published", () -> gauge("org.acme.count:calls-now", 1));

        node.bundles().update(careless("2.0.0"));

        assertThat(node.response()).isEqualTo("2.0.0 node 2"); // the counter went on
        assertThat(marked("1.0.0", "failed.the Broker of org.acme.count 1.0.0 is revoked: the bundle has stopped"))
                .as("the call in flight of the old version has failed")
                .isTrue();
        Waits.until("the listener of the new one is called", () -> marked("2.0.0", "listener.peer"));
        System.clearProperty("waybill.test.1.0.0.tick");
        System.clearProperty("waybill.test.1.0.0.gauge");
        Waits.until("the gauge of the new one is published", () -> gauge("org.acme.count:calls-now", 2));
        workers.join("later");
        Waits.until("it sees who comes", () -> marked("2.0.0", "listener.later"));
        assertThat(marked("1.0.0", "listener.later"))
                .as("the old listener was called")
                .isFalse();
        assertThat(marked("1.0.0", "tick")).as("the old timer ran").isFalse();
        assertThat(marked("1.0.0", "gauge")).as("the old gauge was read").isFalse();
        assertThat(worker.brokers().size())
                .as("the program's, and the new version's")
                .isEqualTo(2);
        Waits.until("the old class loader is unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }

    @Test
    void runsTheExampleOfTheBook() throws Exception {
        HandlerRegistry healthy = workers.registry();
        workers.handle(healthy, "watch.health", (message, outbox) -> outbox.respond(Value.of(true)));
        workers.join("healthy", healthy);
        node.bundles().install(example("org.acme.watch", "PeerWatch", "1.0.0"));
        Waits.until(
                "it gets responses",
                () -> !node.call("watch.report", Map.of()).field("healthy").equals(Value.of(0)));
        Waits.until("it shows how many peers there are", () -> gauge("org.acme.watch:peers", 2));
        node.bundles().uninstall("org.acme.watch");
        Waits.until("they are gone with it", () -> !published().containsKey("org.acme.watch:peers"));
        assertThat(published()).containsKey("org.acme.watch/peers-lost");
    }

    private Map<String, Long> published() throws Exception {
        return worker.metrics().read().stream()
                .filter(each -> each.worker().equals(worker.info()))
                .findFirst()
                .map(WorkerMetrics::values)
                .orElse(Map.of());
    }

    private boolean gauge(String name, long value) throws Exception {
        return published().getOrDefault(name, -1L) == value;
    }

    private Path example(String name, String className, String version) throws Exception {
        String source = Files.readString(Path.of("src/test/java", name.replace('.', '/'), className + ".java"));
        return forge.bundle(name, version)
                .library(name, className, source.substring(source.indexOf(';') + 1))
                .header("-privatepackage", name)
                .build();
    }

    @Test
    void keepsTheStateOfABundleThatIsUpdatedAndLetsItsLoaderGo() throws Exception {
        Map<String, Value> word = Map.of("word", Value.of("be"));
        node.bundles().install(example("org.acme.cache", "WordsSeen", "1.0.0"));
        assertThat(node.call("word.seen", word).value()).isEqualTo(Value.of(1));
        for (int version = 2; version < 5; version++) {
            node.bundles().update(example("org.acme.cache", "WordsSeen", version + ".0.0"));
            assertThat(node.call("word.seen", word).value()).isEqualTo(Value.of(version));
        }
        node.bundles().uninstall("org.acme.cache");
        Waits.until("the class loaders are unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
        assertThat(worker.brokers().states()).hasSize(1).allSatisfy(status -> {
            assertThat(status.owner() + " " + status.store()).isEqualTo("org.acme.cache words");
            assertThat(status.usage().entries()).isEqualTo(1);
        });
    }

    @Test
    void givesEachBundleItsOwn() throws Exception {
        node.bundles().install(careless("1.0.0"));
        Path other = forge.bundle("org.acme.other", "1.0.0")
                .source(
                        "Other",
                        CARELESS.replace("VERSION", "other")
                                .replace("text.count", "text.other")
                                .replace("class Count", "class Other")
                                .replace("Count(@", "Other(@"))
                .build();
        node.bundles().install(other);
        node.response();
        node.bundles().uninstall("org.acme.count");
        assertThat(node.call("text.other", Map.of()).value()).isEqualTo(Value.of("other node 1"));
        assertThat(worker.brokers().counts())
                .containsEntry("org.acme.count/calls", 1L)
                .containsEntry("org.acme.other/calls", 1L);
    }

    @Test
    void saysWhatIsMissingWhereThereIsNone() throws Exception {
        try (TestNode without = new TestNode(directory.resolve("without"))) {
            BundleStatus waits = without.bundles().install(careless("1.0.0"));
            assertThat(waits.state()).isEqualTo(BundleInfo.State.WAITING);
            assertThat(waits.problem().orElseThrow()).contains("Broker");
        }
    }
}
