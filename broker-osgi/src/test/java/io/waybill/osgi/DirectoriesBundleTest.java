package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.waybill.api.Value;
import io.waybill.testing.core.Waits;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** The watched directory and the directory of configurations. */
@Timeout(120)
class DirectoriesBundleTest {

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void prepare() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
    }

    @AfterEach
    void stopNode() {
        if (node != null) {
            node.close();
        }
    }

    private void startNode() throws Exception {
        node = new TestNode(directory.resolve("node"));
    }

    private void drop(Path jar, String name) throws Exception {
        Path hidden = directory.resolve("node").resolve("watched").resolve("." + name);
        Files.createDirectories(hidden.getParent());
        Files.copy(jar, hidden, StandardCopyOption.REPLACE_EXISTING);
        Files.move(hidden, hidden.resolveSibling(name), StandardCopyOption.ATOMIC_MOVE);
    }

    private boolean responses(String text) {
        return node.entry("text.count") != null
                && node.callAsync("text.count", Map.of())
                        .handle((outbox, failure) ->
                                failure == null && outbox.value().equals(Value.of(text)))
                        .join();
    }

    @Test
    void followsAJarThatComesChangesAndGoes() throws Exception {
        startNode();
        drop(forge.responding("org.acme.count", "1.0.0", "one"), "count.jar");
        Waits.until("it is installed", () -> responses("one"));
        drop(forge.responding("org.acme.count", "2.0.0", "two"), "count.jar");
        Waits.until("it is updated", () -> responses("two"));
        Files.delete(node.watched.resolve("count.jar"));
        Waits.until(
                "it is uninstalled",
                () -> node.bundles().installed("org.acme.count").isEmpty());
        assertThat(node.entry("text.count")).isNull();
    }

    @Test
    void startsWithWhatLiesThere() throws Exception {
        drop(forge.responding("org.acme.count", "1.9.0", "nine"), "b.jar");
        drop(forge.responding("org.acme.count", "1.10.0", "ten"), "a.jar");
        startNode();

        assertThat(node.response()).isEqualTo("ten"); // the newer one, whatever the files' names
        Files.delete(node.watched.resolve("b.jar"));
        dropOther();
        Waits.until(
                "a later look was made",
                () -> node.bundles().installed("org.acme.other").isPresent());
        assertThat(node.bundles().installed("org.acme.count")).isPresent();
    }

    private void dropOther() throws Exception {
        Path other = forge.bundle("org.acme.other", "1.0.0")
                .handler("Other", "\"text.other\"", "outbox.respond(Value.of(1));")
                .build();
        drop(other, "other.jar");
    }

    @Test
    void takesBundlesInTheOrderOfTheirNeeds() throws Exception {
        Path library = forge.bundle("org.acme.zlib", "1.0.0")
                .library("org.lib", "Lib", "public class Lib { public static String text() { return \"lib\"; } }")
                .header("-privatepackage", "none")
                .header("Export-Package", "org.lib;version=1.0.0")
                .build();
        Path user = forge.bundle("org.acme.count", "1.0.0")
                .library("org.lib", "Lib", "public class Lib { public static String text() { return \"own\"; } }")
                .handler("Count", "\"text.count\"", "outbox.respond(Value.of(org.lib.Lib.text()));")
                .header("Import-Package", "org.lib;version=\"[1.0,2)\",*")
                .build();
        drop(library, "z.jar");
        drop(user, "a.jar");
        startNode();

        assertThat(node.response()).isEqualTo("lib");
    }

    @Test
    void waitsForTheRestOfAJarThatIsStillBeingCopied() throws Exception {
        startNode();
        byte[] whole = Files.readAllBytes(forge.responding("org.acme.count", "1.0.0", "one"));
        Path file = node.watched.resolve("count.jar");
        Files.write(file, java.util.Arrays.copyOf(whole, whole.length / 2));
        dropOther();
        Waits.until(
                "looks were made",
                () -> node.bundles().installed("org.acme.other").isPresent());
        assertThat(node.bundles().installed("org.acme.count")).isEmpty();

        Files.write(file, whole);
        Waits.until(
                "it is installed",
                () -> node.bundles().installed("org.acme.count").isPresent());
    }

    @Test
    void goesOnAfterWhatIsNoBundle() throws Exception {
        Files.createDirectories(directory.resolve("node/watched"));
        Files.writeString(directory.resolve("node/watched/note.jar"), "this is no jar");
        Files.createDirectory(directory.resolve("node/watched/folder.jar"));
        drop(forge.responding("org.acme.count", "1.0.0", "one"), "count.jar");
        startNode();

        assertThat(node.response()).isEqualTo("one");
        assertThat(node.host.refusedFiles())
                .containsOnlyKeys(node.watched.resolve("note.jar"))
                .allSatisfy((file, problem) -> assertThat(problem).contains("is not a jar"));
        Files.delete(node.watched.resolve("note.jar"));
        Waits.until(
                "it is forgotten with its file", () -> node.host.refusedFiles().isEmpty());
    }

    @Test
    void showsAComponentThatASettingBroke() throws Exception {
        startNode();
        node.bundles()
                .install(forge.bundle("org.acme.count", "1.0.0")
                        .source("Count", """
                                @Component(configurationPid = "org.acme.Count")
                                @HandlesMessage("text.count")
                                public final class Count implements MessageHandler {
                                    public @interface Config { int times() default 1; }
                                    @Activate
                                    public Count(Config config) {
                                        if (config.times() < 1) { throw new IllegalArgumentException("times must be above 0"); }
                                    }
                                    public void handle(Message m, Outbox outbox) { outbox.respond(Value.of("one")); }
                                }
                                """)
                        .build());
        assertThat(node.response()).isEqualTo("one");

        Files.writeString(node.conf.resolve("org.acme.Count.cfg"), "times = 0\n");
        Waits.until(
                "the bundle's status says what is wrong",
                () -> node.bundles().list().stream()
                        .anyMatch(bundle -> bundle.problem().orElse("").contains("times must be above 0")));
        Files.writeString(node.conf.resolve("org.acme.Count.cfg"), "times = 2\n");
        Waits.until("it is cured", () -> responses("one"));
        assertThat(node.bundles().list()).allMatch(bundle -> bundle.problem().isEmpty());
    }

    private Path configured() throws Exception {
        return forge.bundle("org.acme.count", "1.0.0").source("Count", """
                        @Component(configurationPid = "org.acme.Count")
                        @HandlesMessage("text.count")
                        public final class Count implements MessageHandler {
                            public @interface Config { String greeting() default "default"; int times() default 1; }
                            private final String text;
                            @Activate
                            public Count(Config config) { text = config.greeting().repeat(config.times()); }
                            public void handle(Message m, Outbox outbox) { outbox.respond(Value.of(text)); }
                        }
                        """).build();
    }

    @Test
    void configuresComponentsFromFiles() throws Exception {
        startNode();
        node.bundles().install(configured());
        assertThat(node.response()).isEqualTo("default");

        Path file = node.conf.resolve("org.acme.Count.cfg");
        Files.writeString(file, "# a comment\ngreeting = grüß dich\ntimes=2\n", StandardCharsets.UTF_8);
        Waits.until("the component has its settings", () -> responses("grüß dichgrüß dich"));
        Files.writeString(file, "greeting = hello\n");
        Waits.until("it has the new ones", () -> responses("hello"));
        Files.delete(file);
        Waits.until("it has the defaults again", () -> responses("default"));
    }

    @Test
    void followsALinkThatIsSwapped() throws Exception {
        startNode();
        node.bundles().install(configured());
        for (String version : new String[] {"v1", "v2"}) {
            Path folder = Files.createDirectories(node.conf.resolve(".." + version));
            Files.writeString(folder.resolve("org.acme.Count.cfg"), "greeting = " + version + "\n");
        }
        Path data = Files.createSymbolicLink(node.conf.resolve("..data"), Path.of("..v1"));
        Files.createSymbolicLink(node.conf.resolve("org.acme.Count.cfg"), Path.of("..data/org.acme.Count.cfg"));
        Waits.until("it is configured", () -> responses("v1"));
        Path swapped = Files.createSymbolicLink(node.conf.resolve("..tmp"), Path.of("..v2"));
        Files.move(swapped, data, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        Waits.until("it has what the link leads to now", () -> responses("v2"));
    }

    @Test
    void hasTheConfigurationsReadWhenBundlesStart() throws Exception {
        Files.createDirectories(directory.resolve("node/conf"));
        Files.writeString(directory.resolve("node/conf/org.acme.Count.cfg"), "greeting=early\n");
        drop(configured(), "count.jar");
        startNode();

        assertThat(node.response()).isEqualTo("early");
    }

    @Test
    void warnsOfKeysThatNoComponentHasADefaultFor() throws Exception {
        ListAppender<ILoggingEvent> written = new ListAppender<>();
        written.list = new CopyOnWriteArrayList<>();
        Logger log = (Logger) LoggerFactory.getLogger(ConfigurationKeys.class);
        written.start();
        log.addAppender(written);
        try {
            Path file = directory.resolve("node/conf/org.acme.Count.cfg");
            Files.createDirectories(file.getParent());
            Files.writeString(file, "greting = early\ntimes = 2\n");
            drop(configured(), "count.jar");
            startNode();
            assertThat(node.response()).isEqualTo("defaultdefault");
            assertThat(written.list).singleElement().satisfies(warning -> {
                assertThat(warning.getLevel()).isEqualTo(Level.WARN);
                assertThat(warning.getFormattedMessage())
                        .isEqualTo("conf/org.acme.Count.cfg: no component has a default for 'greting', which may be"
                                + " misspelled; there are greeting, times");
            });
            Files.writeString(file, "greeting = early\ntime = 2\n");
            Waits.until("the component has its settings", () -> responses("early"));
            Waits.until(
                    "the other key is known to be wrong",
                    () -> written.list.stream()
                            .anyMatch(each -> each.getFormattedMessage().contains("'time'")));
            assertThat(written.list).hasSize(2);
        } finally {
            log.detachAppender(written);
        }
    }

    @Test
    void keepsAConfigurationWhoseFileBroke() throws Exception {
        startNode();
        node.bundles().install(configured());
        Path file = node.conf.resolve("org.acme.Count.cfg");
        Files.writeString(file, "greeting = hello\n");
        Waits.until("it is configured", () -> responses("hello"));

        Files.write(file, new byte[] {'g', '=', (byte) 0xff, (byte) 0xfe});
        Files.writeString(node.conf.resolve("org.acme.Bad.cfg"), "greeting=\\u12\n");
        dropOther();
        Waits.until(
                "looks were made",
                () -> node.bundles().installed("org.acme.other").isPresent());
        assertThat(node.bundles().installed("org.acme.count")).isPresent();
        node.bundles().uninstall("org.acme.other");
        assertThat(node.response()).isEqualTo("hello");
    }
}
