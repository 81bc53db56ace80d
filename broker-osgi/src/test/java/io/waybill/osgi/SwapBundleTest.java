package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.api.Value;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.admin.LoaderInfo;
import io.waybill.dispatch.HandlerTable.Absence;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.Waits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What happens to requests, threads and class loaders while bundles come and go. */
@Timeout(240)
class SwapBundleTest {

    /** Waits until the test removes the property of this name. */
    private static final String WAIT_FOR_TEST = """
            System.setProperty("waybill.test.running", "yes");
            while (System.getProperty("waybill.test.hold") != null) {
                java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                if (Thread.currentThread().isInterrupted()) {
                    throw new IllegalStateException("interrupted");
                }
            }
            outbox.respond(Value.of("waited"));
            """;

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void prepare() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        System.clearProperty("waybill.test.hold");
        System.clearProperty("waybill.test.running");
    }

    @AfterEach
    void stopNode() {
        System.clearProperty("waybill.test.hold");
        System.clearProperty("waybill.test.running");
        if (node != null) {
            node.close();
        }
    }

    private void startNode() throws Exception {
        node = new TestNode(directory.resolve("node"));
    }

    private void startNode(Duration drainLimit, Duration startLimit) throws Exception {
        node = new TestNode(directory.resolve("node"), drainLimit, startLimit);
    }

    private Path waiting(String version) throws Exception {
        return forge.bundle("org.acme.count", version)
                .exclusive()
                .handler("Count", "\"text.count\"", WAIT_FOR_TEST)
                .build();
    }

    @Test
    void waitsForARunningRequestBeforeItUpdates() throws Exception {
        startNode();
        node.bundles().install(waiting("1.0.0"));
        Path newer = forge.responding("org.acme.count", "2.0.0", "two");
        System.setProperty("waybill.test.hold", "yes");
        CompletableFuture<RecordingOutbox> running = node.callAsync("text.count", Map.of());
        Waits.until("the handler runs", () -> System.getProperty("waybill.test.running") != null);

        CompletableFuture<BundleStatus> update = CompletableFuture.supplyAsync(() -> {
            try {
                return node.bundles().update(newer);
            } catch (BundleRefusedException e) {
                throw new IllegalStateException(e);
            }
        });
        Waits.until(
                "requests park", () -> node.absence("text.count") == Absence.LEFT && node.entry("text.count") == null);
        assertThat(update).isNotDone();
        assertThat(running).isNotDone();

        System.clearProperty("waybill.test.hold");
        assertThat(running.get(20, TimeUnit.SECONDS).value()).isEqualTo(Value.of("waited"));
        assertThat(update.get(20, TimeUnit.SECONDS).version()).isEqualTo("2.0.0");
        assertThat(node.response()).isEqualTo("two");
    }

    @Test
    void goesOnWithoutARequestThatDoesNotEnd() throws Exception {
        startNode(Duration.ofMillis(100), Duration.ofSeconds(20));
        node.bundles().install(waiting("1.0.0"));
        System.setProperty("waybill.test.hold", "yes");
        CompletableFuture<RecordingOutbox> running = node.callAsync("text.count", Map.of());
        Waits.until("the handler runs", () -> System.getProperty("waybill.test.running") != null);

        node.bundles().update(forge.responding("org.acme.count", "2.0.0", "two"));

        assertThat(node.response()).isEqualTo("two");
        assertThat(running).failsWithin(Duration.ofSeconds(20)); // it was interrupted with the threads of its bundle
    }

    @Test
    void losesNoRequestWhileABundleIsUpdatedAgainAndAgain() throws Exception {
        startNode();
        Path[] versions = new Path[6];
        for (int i = 0; i < versions.length; i++) {
            versions[i] = forge.responding("org.acme.count", "1.0." + i, "v" + i);
        }
        node.bundles().install(versions[0]);
        Map<String, Integer> responses = new ConcurrentHashMap<>();
        CompletableFuture<Void> swapping = CompletableFuture.runAsync(() -> {
            try {
                for (int i = 1; i < versions.length; i++) {
                    node.bundles().update(versions[i]);
                }
            } catch (BundleRefusedException e) {
                throw new IllegalStateException(e);
            }
        });
        while (!swapping.isDone()) {
            if (node.entry("text.count") == null) {
                assertThat(node.absence("text.count")).isEqualTo(Absence.LEFT);
                Thread.onSpinWait();
                continue;
            }
            CompletableFuture<RecordingOutbox> call = node.callAsync("text.count", Map.of());
            call.handle((outbox, failure) -> failure == null
                            ? responses.merge(((Value.Text) outbox.value()).value(), 1, Integer::sum)
                            : responses.merge(failure.getMessage(), 1, Integer::sum))
                    .get(20, TimeUnit.SECONDS);
        }
        swapping.get();
        assertThat(responses.keySet()).allMatch(response -> response.matches("v[0-5]|no handler of text.count"));
        assertThat(node.response()).isEqualTo("v5");
    }

    @Test
    void leavesNoClassLoaderBehindInFiftyUpdates() throws Exception {
        startNode();
        Path[] jars = {
            forge.responding("org.acme.count", "1.0.0", "one"), forge.responding("org.acme.count", "2.0.0", "two")
        };
        node.bundles().install(jars[0]);
        for (int i = 1; i <= 50; i++) {
            node.bundles().update(jars[i % 2]);
            node.response();
        }
        node.bundles().uninstall("org.acme.count");

        assertThat(node.host.loaders().leaked(Duration.ofHours(1))).isEmpty();
        Waits.until("every old class loader is collected", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }

    @Test
    void leavesNoClassLoaderBehindOfBundlesThatWereRefused() throws Exception {
        startNode();
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        Path throwing = forge.bundle("org.acme.count", "2.0.0")
                .source("Own", "public final class Own extends RuntimeException {}")
                .source(
                        "Activator",
                        "public final class Activator implements BundleActivator {"
                                + " public void start(BundleContext c) { throw new Own(); }"
                                + " public void stop(BundleContext c) {} }")
                .header("Bundle-Activator", "acme.Activator")
                .build();
        Path broken = forge.bundle("org.acme.count", "3.0.0")
                .source("Own", "public final class Own extends RuntimeException {}")
                .source(
                        "Count",
                        "@Component @HandlesMessage(\"text.count\") public final class Count implements MessageHandler {"
                                + " @Activate public Count() { throw new Own(); }"
                                + " public void handle(Message m, Outbox o) {} }")
                .build();
        for (Path refused : new Path[] {throwing, broken}) {
            assertThatExceptionOfType(BundleRefusedException.class)
                    .isThrownBy(() -> node.bundles().install(refused))
                    .withMessageContaining("acme.Own");
        }

        assertThat(node.response()).isEqualTo("one");
        Waits.until("the refused bundles' class loaders are collected", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }

    @Test
    void namesALeakedClassLoader() throws Exception {
        startNode();
        Path leaking = forge.bundle("org.acme.leak", "1.0.0")
                .handler("Count", "\"text.count\"", """
                        Thread pin = new Thread(() -> {
                            while (System.getProperty("waybill.test.hold") != null) {
                                java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                            }
                        }, "pin");
                        pin.setDaemon(true);
                        pin.start();
                        outbox.respond(Value.of("pinned"));
                        """)
                .build();
        System.setProperty("waybill.test.hold", "yes");
        node.bundles().install(leaking);
        node.response();
        node.bundles().uninstall("org.acme.leak");

        for (int i = 0; i < 5; i++) {
            System.gc();
        }
        assertThat(node.host.loaders().leaked(Duration.ZERO))
                .extracting(LoaderInfo::name, LoaderInfo::version)
                .containsExactly(tuple("org.acme.leak", "1.0.0"));

        System.clearProperty("waybill.test.hold");
        Waits.until("it is collected when its thread ended", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }

    @Test
    void refusesToLetABundleEndTheProcess() throws Exception {
        startNode();
        String[] ways = {
            "System.exit(3);",
            "Runtime.getRuntime().exit(3);",
            "Runtime.getRuntime().halt(3);",
            "java.util.function.IntConsumer end = System::exit; end.accept(3);",
            "java.util.function.IntConsumer end = Runtime.getRuntime()::halt; end.accept(3);",
            "Runnable end = () -> { if (message != null) { System.exit(3); } }; end.run();"
        };
        for (int i = 0; i < ways.length; i++) {
            node.bundles()
                    .install(forge.bundle("org.acme.exit" + i, "1.0.0")
                            .handler("Exit", "\"exit.way" + i + "\"", ways[i])
                            .build());
            String key = "exit.way" + i;
            assertThatExceptionOfType(SecurityException.class)
                    .as(ways[i])
                    .isThrownBy(() -> node.call(key, Map.of()))
                    .withMessageContaining("a bundle may not end the process, and acme.Exit tried to");
        }
    }

    @Test
    void refusesToLetAnInterfaceEndTheProcess() throws Exception {
        startNode();
        node.bundles()
                .install(forge.bundle("org.acme.exit", "1.0.0")
                        .source("Ends", "interface Ends { default void end(int code) { System.exit(code); } }")
                        .handler("Exit", "\"exit.interface\"", "new Ends() {}.end(message == null ? 0 : 3);")
                        .build());

        assertThatExceptionOfType(SecurityException.class)
                .isThrownBy(() -> node.call("exit.interface", Map.of()))
                .withMessageContaining("acme.Ends tried to");
    }

    private BundleForge.Draft hanging(String version, String stop) throws Exception {
        return forge.bundle("org.acme.count", version)
                .handler("Count", "\"text.count\"", "outbox.respond(Value.of(\"hung\"));")
                .source("Activator", """
                        public final class Activator implements BundleActivator {
                            public void start(BundleContext c) {
                                while (System.getProperty("waybill.test.hold") != null) {
                                    java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                                    %s
                                }
                            }
                            public void stop(BundleContext c) {}
                        }
                        """.formatted(stop))
                .header("Bundle-Activator", "acme.Activator");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void givesUpABundleWhoseStartHangs(boolean exclusive) throws Exception {
        startNode(Duration.ofSeconds(20), Duration.ofSeconds(3));
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        System.setProperty("waybill.test.hold", "yes");
        BundleForge.Draft draft = hanging("2.0.0", "Thread.interrupted();");
        Path deaf = (exclusive ? draft.exclusive() : draft).build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(deaf))
                .withMessageContaining("org.acme.count did not start within 3000 ms")
                .withMessageEndingWith("org.acme.count 1.0.0 " + (exclusive ? "is in its place again" : "still serves"))
                .extracting(BundleRefusedException::reason)
                .isEqualTo(Reason.HUNG);
        assertThat(node.response()).isEqualTo("one");
        assertThat(node.bundles().list())
                .filteredOn(bundle -> bundle.kind() == BundleInfo.Kind.HANDLER)
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactlyInAnyOrder(
                        tuple("1.0.0", BundleInfo.State.ACTIVE), tuple("2.0.0", BundleInfo.State.STUCK));

        node.bundles().update(forge.responding("org.acme.count", "3.0.0", "three"));
        assertThat(node.response()).isEqualTo("three");
        System.clearProperty("waybill.test.hold"); // so that the framework can stop
    }

    @Test
    void updatesABundleWhoseStopHangs() throws Exception {
        startNode(Duration.ofMillis(100), Duration.ofSeconds(3));
        node.bundles()
                .install(forge.bundle("org.acme.count", "1.0.0")
                        .handler("Count", "\"text.count\"", "outbox.respond(Value.of(\"one\"));")
                        .source("Activator", """
                                public final class Activator implements BundleActivator {
                                    public void start(BundleContext c) {}
                                    public void stop(BundleContext c) {
                                        while (System.getProperty("waybill.test.hold") != null) {
                                            java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                                            Thread.interrupted();
                                        }
                                    }
                                }
                                """)
                        .header("Bundle-Activator", "acme.Activator")
                        .build());
        System.setProperty("waybill.test.hold", "yes");

        node.bundles().update(forge.responding("org.acme.count", "2.0.0", "two"));
        assertThat(node.response()).isEqualTo("two");
        assertThat(node.bundles().list())
                .filteredOn(bundle -> bundle.kind() == BundleInfo.Kind.HANDLER)
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactly(tuple("2.0.0", BundleInfo.State.ACTIVE), tuple("1.0.0", BundleInfo.State.STUCK));
        System.clearProperty("waybill.test.hold");
    }

    @Test
    void givesUpABundleWhoseComponentHangs() throws Exception {
        startNode(Duration.ofSeconds(20), Duration.ofSeconds(3));
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        System.setProperty("waybill.test.hold", "yes");
        Path deaf = forge.bundle("org.acme.count", "2.0.0").source("Count", """
                        @Component @HandlesMessage("text.count")
                        public final class Count implements MessageHandler {
                            @Activate
                            public Count() {
                                while (System.getProperty("waybill.test.hold") != null) {
                                    java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                                    Thread.interrupted();
                                }
                            }
                            public void handle(Message m, Outbox outbox) {}
                        }
                        """).build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(deaf))
                .withMessageContaining("did not start within 3000 ms")
                .withMessageContaining("org.acme.count 1.0.0 still serves");
        assertThat(node.response()).isEqualTo("one");
        System.clearProperty("waybill.test.hold");
    }

    @Test
    void takesAStartThatEndsWhenInterruptedForAFailure() throws Exception {
        startNode(Duration.ofSeconds(20), Duration.ofSeconds(3));
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        System.setProperty("waybill.test.hold", "yes");
        Path slow = hanging(
                        "2.0.0", "if (Thread.currentThread().isInterrupted()) { throw new IllegalStateException(); }")
                .build();

        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(slow))
                .withMessageContaining("did not start within 3000 ms")
                .extracting(BundleRefusedException::reason)
                .isEqualTo(Reason.START_FAILED);
        assertThat(node.response()).isEqualTo("one");
        assertThat(node.bundles().list()).noneMatch(bundle -> bundle.state() == BundleInfo.State.STUCK);
    }
}
