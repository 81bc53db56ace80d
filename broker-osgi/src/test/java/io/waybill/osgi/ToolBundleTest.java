package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.Value;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Workers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands of bundles in a real framework: installed, run while their bundle is updated, and refused. */
@Timeout(240)
class ToolBundleTest {

    private static final String COMMAND = """
            @Component
            public final class Show implements ToolCommand {
                @Override
                public ToolDescription description() {
                    DESCRIBE
                    return ToolDescription.of("NAME", "Shows VERSION.").limit(java.time.Duration.ZERO);
                }

                @Override
                public void run(ToolRun run) throws Exception {
                    BODY
                }
            }
            """;

    private static final String LIVE = "run.line(\"VERSION\"); new java.util.concurrent.CountDownLatch(1).await();";

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        node = new TestNode(directory.resolve("node"));
    }

    @AfterEach
    void stop() {
        node.close();
    }

    private Path bundle(String symbolicName, String version, String name, String describe, String body)
            throws Exception {
        String source = COMMAND.replace("DESCRIBE", describe)
                .replace("NAME", name)
                .replace("BODY", body)
                .replace("VERSION", version);
        return forge.bundle(symbolicName, version).source("Show", source).build();
    }

    private Path live(String version) throws Exception {
        return bundle("org.acme.show", version, "show", "", LIVE);
    }

    private long begin() {
        RecordingOutbox begun = node.call(
                "control:tools.run", Map.of("name", Value.of("show"), "words", Value.list(), "json", Value.of(false)));
        assertThat(begun.field("error")).isEqualTo(Value.of(""));
        return ((Value.Int) begun.field("run")).value();
    }

    private RecordingOutbox read(long run) {
        return node.call("control:tools.read", Map.of("run", Value.of(run)));
    }

    private void awaitLine(long run, String line) {
        Value[] items = {Value.list()};
        Waits.until("it shows " + line, () -> {
            items[0] = read(run).field("items");
            return !items[0].equals(Value.list());
        });
        assertThat(items[0]).isEqualTo(Value.list(Value.of(line)));
    }

    private List<Value> commands() {
        return ((Value.Items) node.call("control:tools.list", Map.of()).field("commands")).values();
    }

    @Test
    void endsTheRunsOfAnUpdatedBundleAndLetsItsLoaderGo() throws Exception {
        node.bundles().install(live("1.0.0"));
        long old = begin();
        awaitLine(old, "1.0.0");

        node.bundles().update(live("2.0.0"));

        assertThat(read(old).field("error"))
                .isEqualTo(Value.of("command show of org.acme.show 1.0.0 was ended: its bundle has stopped"));
        long run = begin();
        awaitLine(run, "2.0.0");
        Waits.until("the old class loader is unreachable", () -> {
            System.gc();
            read(run); // for its lease
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
        node.bundles().uninstall("org.acme.show");
        assertThat(commands()).isEmpty();
    }

    @Test
    void refusesABundleWhoseCommandIsTaken() throws Exception {
        node.bundles().install(live("1.0.0"));
        assertRefused(
                bundle("org.acme.other", "3.0.0", "show", "", ""),
                "org.acme.other 3.0.0 claims the command show, which org.acme.show 1.0.0 has");
        assertRefused(
                bundle("org.acme.other", "3.1.0", "workers", "", ""),
                "org.acme.other 3.1.0 claims the command workers, which is built in");
        assertRefused(
                bundle("org.acme.other", "3.2.0", "bad name", "", ""),
                "lower-case letters, digits and hyphens, and not 'bad name'");
        assertRefused(
                bundle("org.acme.other", "3.3.0", "throws", "if (true) throw new StackOverflowError();", ""),
                "a command can't be described: java.lang.StackOverflowError");
        assertRefused(bundle("org.acme.other", "3.4.0", "none", "if (true) return null;", ""), "has no description");
        awaitLine(begin(), "1.0.0");
        assertThat(commands()).hasSize(1);
    }

    @Test
    void runsTheExampleOfTheBook() throws Exception {
        Path source = Path.of("src/test/java/org/acme/peers/PeersCommand.java");
        String text = Files.readString(source);
        Path example = forge.bundle("org.acme.peers", "1.0.0")
                .library("org.acme.peers", "PeersCommand", text.substring(text.indexOf(';') + 1))
                .header("-privatepackage", "org.acme.peers")
                .build();
        try (Workers workers = new Workers(directory);
                TestNode joined = new TestNode(
                        directory.resolve("joined"), workers.join("node").brokers())) {
            workers.join("peer");
            joined.bundles().install(example);
            Value words = Value.list(Value.of("--min"), Value.of("2"));
            Map<String, Value> asked = Map.of("name", Value.of("peers"), "words", words, "json", Value.of(false));
            Waits.until("it sees the peer, and misses another", () -> {
                Value run = joined.call("control:tools.run", asked).field("run");
                RecordingOutbox read = joined.call("control:tools.read", Map.of("run", run));
                return read.field("items").equals(Value.list(Value.of("peer epoch 1")))
                        && read.field("error").equals(Value.of("expected 2 peers, found 1"));
            });
        }
    }

    private void assertRefused(Path jar, String why) {
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContaining(why);
    }

    @Test
    void countsAThreadThatDoesNotEndForItsBundle() throws Exception {
        String deaf = "run.line(\"deaf\"); while (System.getProperty(\"waybill.test.release\") == null)"
                + " { java.util.concurrent.locks.LockSupport.parkNanos(1_000_000); Thread.interrupted(); }";
        System.clearProperty("waybill.test.release");
        node.bundles().install(bundle("org.acme.show", "1.0.0", "show", "", deaf));
        long run = begin();
        awaitLine(run, "deaf"); // a run that is ended before its command is called does not call it
        node.call("control:tools.end", Map.of("run", Value.of(run)));
        Waits.until("it counts as stuck", () -> stuck() == 1);
        assertThat(read(run).field("error"))
                .isEqualTo(Value.of("command show of org.acme.show 1.0.0 was ended: by its user"));
        System.setProperty("waybill.test.release", "yes");
        Waits.until("it has ended", () -> stuck() == 0);
    }

    private long stuck() {
        Value bundles = node.call("control:bundle.list", Map.of()).field("bundles");
        return ((Value.Items) bundles)
                .values().stream()
                        .map(bundle -> ((Value.Dict) bundle).entries())
                        .filter(bundle -> bundle.get(Value.of("name")).equals(Value.of("org.acme.show")))
                        .mapToLong(bundle -> ((Value.Int) bundle.get(Value.of("stuck"))).value())
                        .sum();
    }
}
