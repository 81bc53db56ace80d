package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.admin.Canary;
import io.waybill.osgi.jar.BundleRefusedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a node remembers of its bundles when it starts again. */
@Timeout(120)
class RestartBundleTest {

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

    private void restart() throws Exception {
        node.close();
        node = new TestNode(directory.resolve("node"));
    }

    /** Copies a jar into the watched directory at a later time, by the file system's clock, than anything before. */
    private void drop(Path jar, String name) throws Exception {
        Path file = node.watched.resolve(name);
        Files.deleteIfExists(file);
        pauseForAnotherFileTime();
        Files.copy(jar, file);
        pauseForAnotherFileTime();
    }

    private void pauseForAnotherFileTime() throws Exception {
        Path probe = directory.resolve("probe");
        Files.writeString(probe, "a");
        var before = Files.getAttribute(probe, "unix:ctime");
        do {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
            Files.writeString(probe, "b");
        } while (Files.getAttribute(probe, "unix:ctime").equals(before));
    }

    @Test
    void hasWhatWasInstalledByCommand() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        node.bundles().update(forge.responding("org.acme.count", "2.0.0", "two"));
        restart();
        assertThat(node.response()).isEqualTo("two");

        node.bundles().uninstall("org.acme.count");
        restart();
        assertThat(node.bundles().installed("org.acme.count")).isEmpty();
    }

    @Test
    void hasTheVersionThatWasPromotedLast() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        Path next = forge.responding("org.acme.count", "2.0.0", "two");
        node.bundles().canary(next, Canary.ofPercent(100));
        restart();
        assertThat(node.response()).as("after a restart during a trial").isEqualTo("one");
        assertThat(node.registry.statuses())
                .extracting(status -> status.provider().toString())
                .doesNotContain("org.acme.count 2.0.0");

        node.bundles().canary(next, Canary.ofPercent(100));
        node.bundles().promote("org.acme.count");
        restart();
        assertThat(node.response()).as("after a promotion").isEqualTo("two");
    }

    @Test
    void hasNotWhatWasRefused() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        Path needy = forge.bundle("org.acme.count", "2.0.0")
                .handler("Count", "\"text.count\"", "")
                .header("Import-Package", "org.lib;version=1.0,*")
                .build();
        assertThat(refused(needy)).contains("org.lib");
        restart();
        assertThat(node.response()).isEqualTo("one");
    }

    private String refused(Path jar) {
        try {
            node.bundles().install(jar);
            return "taken";
        } catch (BundleRefusedException e) {
            return e.getMessage();
        }
    }

    @Test
    void takesTheCommandsJarWhenItCameLaterThanTheWatchedOne() throws Exception {
        drop(forge.responding("org.acme.count", "1.0.0", "watched"), "count.jar");
        restart();
        assertThat(node.response()).isEqualTo("watched");
        node.bundles().update(forge.responding("org.acme.count", "2.0.0", "command"));
        restart();
        assertThat(node.response()).isEqualTo("command");
    }

    @Test
    void takesTheWatchedJarWhenItCameLaterThanTheCommandsOne() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "command"));
        node.close();
        drop(forge.responding("org.acme.count", "2.0.0", "watched"), "count.jar");
        node = new TestNode(directory.resolve("node"));
        assertThat(node.response()).isEqualTo("watched");
        restart();
        assertThat(node.response()).isEqualTo("watched");
    }
}
