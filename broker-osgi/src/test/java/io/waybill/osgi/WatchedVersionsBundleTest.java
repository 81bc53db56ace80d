package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Value;
import io.waybill.api.admin.BundleInfo.State;
import io.waybill.testing.core.Waits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Several jars for one bundle in the watched directory, under any names. */
@Timeout(120)
class WatchedVersionsBundleTest {

    private static final String NAME = "org.acme.count";

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

    private void drop(Path jar, String name) throws Exception {
        Path hidden = node.watched.resolve("." + name);
        Files.copy(jar, hidden, StandardCopyOption.REPLACE_EXISTING);
        Files.move(hidden, node.watched.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }

    private void remove(String name) throws Exception {
        Files.delete(node.watched.resolve(name));
    }

    private void assertResponds(String text) {
        Waits.until("it responds with " + text, () -> responds(text));
    }

    private boolean responds(String text) {
        return node.entry("text.count") != null
                && node.callAsync("text.count", Map.of())
                        .handle((outbox, failure) ->
                                failure == null && outbox.value().equals(Value.of(text)))
                        .join();
    }

    /** Waits for a scan that came after all before. */
    private void awaitScans() throws Exception {
        Path other = forge.bundle("org.acme.other", "1.0.0")
                .handler("Other", "\"text.other\"", "outbox.respond(Value.of(1));")
                .build();
        drop(other, "other.jar");
        Waits.until(
                "scans were made",
                () -> node.bundles().installed("org.acme.other").isPresent());
        remove("other.jar");
        Waits.until(
                "scans were made",
                () -> node.bundles().installed("org.acme.other").isEmpty());
    }

    private String source() {
        return node.bundles()
                .installed(NAME)
                .orElseThrow()
                .source()
                .getFileName()
                .toString();
    }

    @Test
    void theOlderOneIsTakenWhenTheNewerOneIsRemoved() throws Exception {
        drop(forge.responding(NAME, "1.0.0", "one"), "a.jar");
        assertResponds("one");
        drop(forge.responding(NAME, "1.1.0", "one.one"), "b.jar");
        assertResponds("one.one");
        drop(forge.responding(NAME, "2.0.0", "two"), "c.jar");
        assertResponds("two");

        remove("c.jar");
        assertResponds("one.one");
        restart();
        assertResponds("one.one");
        remove("b.jar");
        assertResponds("one");
        assertThat(source()).isEqualTo("a.jar");
        remove("a.jar");
        Waits.until("it is uninstalled", () -> node.bundles().installed(NAME).isEmpty());
    }

    @Test
    void theHighestVersionRunsInWhateverOrderTheyCome() throws Exception {
        drop(forge.responding(NAME, "2.0.0", "two"), "b.jar");
        assertResponds("two");
        drop(forge.responding(NAME, "1.0.0", "one"), "a.jar");
        awaitScans();
        assertThat(responds("two")).isTrue();
        restart();
        assertResponds("two");
        drop(forge.responding(NAME, "2.0.0", "another two"), "c.jar");
        assertResponds("another two"); // of equal versions the last one
        remove("c.jar");
        assertResponds("two");
        drop(forge.responding(NAME, "0.9.0", "less"), "b.jar");
        assertResponds("one"); // the file has a lower version now
    }

    @Test
    void anOlderOneThatDoesNotStartIsPassedOver() throws Exception {
        drop(forge.responding(NAME, "1.0.0", "one"), "a.jar");
        assertResponds("one");
        Path broken = forge.bundle(NAME, "1.5.0")
                .source(
                        "Count",
                        "@Component @HandlesMessage(\"text.count\") public final class Count implements MessageHandler {"
                                + " @Activate public Count() { throw new IllegalStateException(\"no dictionary\"); }"
                                + " public void handle(Message m, Outbox o) {} }")
                .build();
        drop(broken, "b.jar");
        Waits.until("it is refused", () -> !node.host.refusedFiles().isEmpty());
        drop(forge.responding(NAME, "2.0.0", "two"), "c.jar");
        assertResponds("two");

        remove("c.jar");
        assertResponds("one");
    }

    @Test
    void aJarThatIsRenamedOrReplacedByAnOlderOneServesOn() throws Exception {
        drop(forge.responding(NAME, "1.0.0", "one"), "a.jar");
        assertResponds("one");
        Waits.until("its start is known", () -> activeSince() > 0);
        long since = activeSince();
        Files.move(node.watched.resolve("a.jar"), node.watched.resolve("b.jar"));
        Waits.until("it is known under its name", () -> source().equals("b.jar"));
        assertThat(activeSince()).as("it was not started again").isEqualTo(since);

        drop(forge.responding(NAME, "0.9.0", "back"), "c.jar");
        awaitScans();
        remove("b.jar");
        Waits.until("it is replaced, and was never away", () -> {
            assertThat(node.bundles().installed(NAME)).isPresent();
            return responds("back");
        });
        assertThat(source()).isEqualTo("c.jar");
    }

    private long activeSince() {
        return node.bundles().list().stream()
                .filter(bundle -> bundle.symbolicName().equals(NAME) && bundle.state() == State.ACTIVE)
                .mapToLong(BundleStatus::sinceWallNs)
                .findFirst()
                .orElse(0);
    }

    @Test
    void aFileThatGetsAnotherBundleGivesUpItsFormerOne() throws Exception {
        drop(forge.responding(NAME, "1.0.0", "one"), "a.jar");
        assertResponds("one");
        Path other = forge.bundle("org.acme.other", "1.0.0")
                .handler("Other", "\"text.other\"", "outbox.respond(Value.of(1));")
                .build();
        drop(other, "a.jar");
        Waits.until(
                "it has the other one",
                () -> node.bundles().installed("org.acme.other").isPresent());
        Waits.until(
                "the former one is gone", () -> node.bundles().installed(NAME).isEmpty());
    }

    @Test
    void aLinkIsRefusedAndAnUpperCaseNameIsTaken() throws Exception {
        Path jar = forge.responding(NAME, "1.0.0", "one");
        Path link = Files.createSymbolicLink(node.watched.resolve("link.jar"), jar);
        Path nowhere = Files.createSymbolicLink(node.watched.resolve("nowhere.jar"), directory.resolve("nothing"));
        Waits.until("they are refused", () -> node.host.refusedFiles().size() == 2);
        assertThat(node.host.refusedFiles())
                .containsOnlyKeys(link, nowhere)
                .allSatisfy((file, problem) -> assertThat(problem).contains("a bundle is a regular file and no link"));
        drop(jar, "COUNT.JAR");
        assertResponds("one");
    }

    @Test
    void aFileIsTriedAgainWhenItsPermissionsChange() throws Exception {
        Path open = directory.resolve("open.jar");
        Files.copy(forge.responding(NAME, "1.0.0", "one"), open);
        Files.setPosixFilePermissions(open, java.nio.file.attribute.PosixFilePermissions.fromString("rw-rw-rw-"));
        Path file = Files.move(open, node.watched.resolve("a.jar"));
        Waits.until("it is refused", () -> node.host.refusedFiles().toString().contains("everybody may write"));
        Files.setPosixFilePermissions(file, java.nio.file.attribute.PosixFilePermissions.fromString("rw-r--r--"));
        assertResponds("one");
    }
}
