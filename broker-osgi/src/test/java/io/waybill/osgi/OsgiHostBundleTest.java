package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.osgi.jar.FileMark;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The bundles that a node comes with. */
@Timeout(120)
class OsgiHostBundleTest {

    @TempDir
    Path directory;

    private BundleForge forge;
    private Path bundles;

    @BeforeEach
    void copySystemBundles() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        bundles = directory.resolve("bundles");
        for (String level : List.of("1", "2")) {
            Files.createDirectories(bundles.resolve(level));
            for (Path jar : FileMark.list(TestNode.SYSTEM_BUNDLES.resolve(level), ".jar")
                    .keySet()) {
                Files.copy(jar, bundles.resolve(level).resolve(jar.getFileName()));
            }
        }
    }

    private void ship(int level, Path jar) throws IOException {
        Path folder = Files.createDirectories(bundles.resolve(Integer.toString(level)));
        Files.move(
                jar,
                folder.resolve(jar.getFileName().toString().replaceAll("-\\d+\\.jar", ".jar")),
                java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    }

    private TestNode start() throws IOException {
        return new TestNode(directory.resolve("node"), bundles, Map.of());
    }

    @Test
    void startsWhatItComesWithInTheOrderOfLevels() throws Exception {
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
        ship(9, library);
        ship(20, user);
        try (TestNode node = start()) {
            assertThat(node.response()).isEqualTo("lib");
            assertThat(node.bundles().list())
                    .extracting(bundle -> bundle.symbolicName() + " " + bundle.kind())
                    .contains("org.acme.zlib SYSTEM", "org.acme.count HANDLER");
            node.bundles().update(forge.responding("org.acme.count", "1.0.1", "updated"));
            assertThat(node.response()).isEqualTo("updated");
        }
    }

    @Test
    void keepsAnUpdateByCommandUntilItComesWithSomethingNewer() throws Exception {
        ship(10, forge.responding("org.acme.count", "1.0.0", "shipped 1"));
        try (TestNode node = start()) {
            node.bundles().update(forge.responding("org.acme.count", "1.5.0", "command"));
        }
        try (TestNode node = start()) {
            assertThat(node.response()).isEqualTo("command");
        }
        ship(10, forge.responding("org.acme.count", "2.0.0", "shipped 2"));
        try (TestNode node = start()) {
            assertThat(node.response()).isEqualTo("shipped 2");
        }
    }

    @Test
    void startsWithoutAHandlerBundleThatIsBroken() throws Exception {
        Files.createDirectories(bundles.resolve("10"));
        Files.writeString(bundles.resolve("10/broken.jar"), "no jar");
        ship(10, forge.responding("org.acme.count", "1.0.0", "one"));
        try (TestNode node = start()) {
            assertThat(node.response()).isEqualTo("one");
        }
    }

    @Test
    void doesNotStartWithoutABundleOfTheSystem() throws Exception {
        Files.writeString(bundles.resolve("1/broken.jar"), "no jar");
        assertThatThrownBy(this::start)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("the OSGi framework does not start");
    }

    @Test
    void saysWhichDirectoryIsMissingOrNoLevel() throws Exception {
        Files.createDirectory(bundles.resolve("late"));
        assertThatThrownBy(this::start)
                .hasMessageContaining("named for their start level")
                .hasMessageContaining("late");
        assertThatThrownBy(() -> new TestNode(directory.resolve("node"), directory.resolve("none"), Map.of()))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessageContaining("none");
    }

    @Test
    void exportsMorePackagesWhenAnOperatorSaysSo() throws Exception {
        Path jar = forge.bundle("org.acme.count", "1.0.0")
                .handler(
                        "Count",
                        "\"text.count\"",
                        "outbox.respond(Value.of(new org.agrona.concurrent.UnsafeBuffer(new byte[3]).capacity() + \" bytes\"));")
                .header("Import-Package", "org.agrona.concurrent,*;resolution:=optional")
                .build();
        Map<String, String> more =
                Map.of("org.osgi.framework.system.packages.extra", "org.agrona.concurrent,org.agrona");
        try (TestNode node = new TestNode(directory.resolve("node"), bundles, more)) {
            node.bundles().install(jar);
            assertThat(node.response()).isEqualTo("3 bytes");
        }
    }

    @Test
    void hidesTheRestOfItsClassPath() throws Exception {
        Path jar = forge.bundle("org.acme.count", "1.0.0")
                .handler("Count", "\"text.count\"", """
                        try {
                            Class.forName(String.join(".", "io.waybill.osgi", "OsgiHost"));
                            outbox.respond(Value.of("seen"));
                        } catch (ClassNotFoundException e) {
                            outbox.respond(Value.of("hidden"));
                        }
                        """)
                .build();
        try (TestNode node = start()) {
            node.bundles().install(jar);
            assertThat(node.response()).isEqualTo("hidden");
        }
    }
}
