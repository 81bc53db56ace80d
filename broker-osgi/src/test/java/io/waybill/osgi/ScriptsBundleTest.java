package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Value;
import io.waybill.api.admin.ScriptInfo;
import io.waybill.dispatch.HandlerKey;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.Waits;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Scripts in the watched directory and in bundles, with a runtime that needs no libtorch. */
@Timeout(120)
class ScriptsBundleTest {

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        node = new TestNode(directory.resolve("node"));
        node.bundles().install(ScriptRuntime.build(forge, "1.0.0"));
    }

    @AfterEach
    void stopNode() {
        node.close();
    }

    private Path drop(String name, String text) throws Exception {
        Path hidden = Files.writeString(node.scripts.resolve("." + name), text);
        Files.setPosixFilePermissions(hidden, PosixFilePermissions.fromString("rw-r--r--"));
        return Files.move(hidden, hidden.resolveSibling(name), StandardCopyOption.ATOMIC_MOVE);
    }

    private boolean responses(String module, String text) {
        return node.registry.table().forKey(HandlerKey.parse("function:" + module + ".f")) != null
                && node.callAsync("function:" + module + ".f", Map.of())
                        .handle((outbox, failure) ->
                                failure == null && outbox.value().equals(Value.of(text)))
                        .join();
    }

    /** Responds, and is listed without a problem, which comes a moment later. */
    private boolean isServed(Path file, String text) {
        String module = file.getFileName().toString().replaceAll("\\.p[ty]$", "");
        return responses(module, text)
                && status(file).functions().size() == 1
                && problem(file).isEmpty();
    }

    private ScriptInfo status(Object origin) {
        return node.host.scripts().stream()
                .filter(script -> script.source().equals(origin.toString()))
                .findFirst()
                .orElse(new ScriptInfo("", "", "", Instant.EPOCH, List.of(), java.util.Optional.empty()));
    }

    private String problem(Object origin) {
        return status(origin).problem().orElse("");
    }

    /** A jar with nothing in it but scripts. */
    private Path scripts(String symbolicName, String version, Map<String, String> files) throws Exception {
        Manifest manifest = new Manifest();
        Attributes main = manifest.getMainAttributes();
        main.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        main.putValue("Bundle-ManifestVersion", "2");
        main.putValue("Bundle-SymbolicName", symbolicName);
        main.putValue("Bundle-Version", version);
        main.putValue("Waybill-Scripts", "scripts");
        Path jar = directory.resolve(symbolicName + "-" + version + ".jar");
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file, manifest)) {
            for (Map.Entry<String, String> entry : files.entrySet()) {
                ZipEntry script = new JarEntry("scripts/" + entry.getKey());
                out.putNextEntry(script);
                out.write(entry.getValue().getBytes(java.nio.charset.StandardCharsets.UTF_8));
                out.closeEntry();
            }
        }
        return jar;
    }

    @Test
    void followsAFileThatComesChangesAndGoes() throws Exception {
        Path file = drop("math.py", "one");
        Waits.until("it is served", () -> isServed(file, "one"));
        assertThat(status(file).functions()).containsExactly("f() -> str");
        drop("math.py", "two");
        Waits.until("it is replaced", () -> responses("math", "two"));
        Files.delete(file);
        Waits.until("it is gone", () -> node.host.scripts().isEmpty());
        assertThat(node.registry.table().forKey(HandlerKey.parse("function:math.f")))
                .isNull();
        try (var copies = Files.list(directory.resolve("node/cache/scripts"))) {
            assertThat(copies).as("copies of what is gone").isEmpty();
        }
    }

    @Test
    void servesOnWhenWhatReplacesAFileIsRefused() throws Exception {
        Path file = drop("math.py", "good");
        Waits.until("it is served", () -> isServed(file, "good"));
        String sha256 = status(file).sha256();
        drop("math.py", "broken");
        Waits.until("it is refused", () -> problem(file).equals("line 1 is broken"));

        assertThat(responses("math", "good")).isTrue();
        assertThat(status(file).sha256()).isEqualTo(sha256);
        assertThat(status(file).functions()).hasSize(1);
        drop("math.py", "better");
        Waits.until("the corrected file is served", () -> isServed(file, "better"));
    }

    @Test
    void servesNothingOfAFileThatWasNeverRight() throws Exception {
        Path file = drop("math.py", "broken");
        Waits.until("it is refused", () -> !problem(file).isEmpty());

        assertThat(status(file).functions()).isEmpty();
        assertThat(node.registry.table().forKey(HandlerKey.parse("function:math.f")))
                .isNull();
    }

    @Test
    void takesNoFileThatAnotherUserCouldHaveWritten() throws Exception {
        Path link = Files.createSymbolicLink(
                node.scripts.resolve("link.py"), Files.writeString(directory.resolve("elsewhere.py"), "text"));
        Files.createLink(node.scripts.resolve("twice.PY"), directory.resolve("elsewhere.py"));
        Path open = drop("open.py", "text");
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rw-rw-r--"));
        Path named = drop("with-dash.py", "text");
        Path fifo = node.scripts.resolve("fifo.py");
        assertThat(new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor())
                .isZero();
        drop("math.py", "text");

        Waits.until("the right one is served", () -> responses("math", "text"));
        Waits.until("the link is refused", () -> problem(link).contains("symbolic link"));
        Waits.until("one in upper case with a hard link is served", () -> responses("twice", "text"));
        Waits.until("what others may write is refused", () -> problem(open).contains("only its owner may write"));
        Waits.until("the FIFO is refused", () -> problem(fifo).contains("a FIFO"));
        Waits.until("the name is refused", () -> problem(named).contains("with-dash.py"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rw-------"));
        Waits.until("what was put right is served", () -> responses("open", "text"));
    }

    @Test
    void takesTheFirstOfTwoFilesForOneModule() throws Exception {
        Path source = drop("math.py", "source");
        Waits.until("it is served", () -> responses("math", "source"));
        Path module = drop("math.pt", "module");
        Waits.until("the second waits", () -> problem(module).contains("math.py"));
        assertThat(responses("math", "source")).isTrue();
        Files.delete(source);
        Waits.until("the second is served", () -> responses("math", "module"));
    }

    @Test
    void servesScriptsOfABundleThatHoldsNothingElse() throws Exception {
        node.bundles().install(scripts("org.acme.scripts", "1.0.0", Map.of("math.py", "one", "readme.txt", "x")));
        assertThat(responses("math", "one")).isTrue();
        node.bundles().update(scripts("org.acme.scripts", "1.1.0", Map.of("math.py", "two", "other.py", "other")));
        assertThat(responses("math", "two")).isTrue();
        assertThat(responses("other", "other")).isTrue();
        assertThat(status("org.acme.scripts 1.1.0: scripts/math.py").problem()).isEmpty();
        node.bundles().uninstall("org.acme.scripts");
        assertThat(node.host.scripts()).isEmpty();
    }

    @Test
    void putsTheOldBundleBackWhenAScriptOfTheNewOneIsRefused() throws Exception {
        node.bundles().install(scripts("org.acme.scripts", "1.0.0", Map.of("math.py", "one")));
        Path next = scripts("org.acme.scripts", "1.1.0", Map.of("math.py", "broken"));

        assertThatThrownBy(() -> node.bundles().update(next))
                .isInstanceOf(BundleRefusedException.class)
                .hasMessageContaining("scripts/math.py: line 1 is broken")
                .hasMessageContaining("1.0.0 is in its place again");
        assertThat(responses("math", "one")).isTrue();
    }

    @Test
    void refusesABundleOfScriptsWithoutAny() throws Exception {
        Path none = scripts("org.acme.scripts", "1.0.0", Map.of("readme.txt", "x"));

        assertThatThrownBy(() -> node.bundles().install(none)).hasMessageContaining("no .py or .pt is there");
    }

    @Test
    void prefersTheOperatorsFileToABundles() throws Exception {
        node.bundles().install(scripts("org.acme.scripts", "1.0.0", Map.of("math.py", "bundle")));
        assertThat(responses("math", "bundle")).isTrue();
        Path file = drop("math.py", "file");
        Waits.until("the file is served", () -> responses("math", "file"));
        Files.delete(file);
        Waits.until("the bundle's is again", () -> responses("math", "bundle"));
    }

    @Test
    void servesWhatIsThereWhenTheRuntimeComesBack() throws Exception {
        Path file = drop("math.py", "one");
        Waits.until("it is served", () -> isServed(file, "one"));
        node.bundles().update(ScriptRuntime.build(forge, "1.1.0"));
        assertThat(responses("math", "one")).isTrue();
        node.bundles().uninstall("org.acme.runtime");
        Path late = drop("late.py", "late");
        Waits.until("it waits", () -> problem(late).contains("no bundle that runs scripts"));
        drop("math.py", "broken");
        node.bundles().install(ScriptRuntime.build(forge, "1.2.0"));
        assertThat(responses("math", "one")).isTrue();
        assertThat(responses("late", "late")).isTrue();
        assertThat(problem(late)).isEmpty();
        Waits.until("what came meanwhile is refused", () -> problem(file).equals("line 1 is broken"));
        assertThat(responses("math", "one")).isTrue();
    }

    @Test
    void listsScriptsForAnOperator() throws Exception {
        Path file = drop("math.py", "one");
        Waits.until("it is served", () -> isServed(file, "one"));
        Value scripts = node.call("control:scripts.list", Map.of()).field("scripts");

        Value.Dict script = (Value.Dict) ((Value.Items) scripts).values().get(0);
        assertThat(script.entries())
                .containsEntry(Value.of("module"), Value.of("math"))
                .containsEntry(Value.of("source"), Value.of(file.toString()))
                .containsEntry(Value.of("problem"), Value.NONE)
                .containsEntry(Value.of("functions"), new Value.Items(List.of(Value.of("f() -> str"))));
    }
}
