package io.waybill.bench.measure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VersionedJarTest {

    @Test
    void changesTheVersionAndNothingElse(@TempDir Path directory) throws IOException {
        Path jar = directory.resolve("original.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Bundle-SymbolicName", "org.acme.word-count");
        manifest.getMainAttributes().putValue("Bundle-Version", "1.0.0");
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file, manifest)) {
            out.putNextEntry(new JarEntry("words.txt"));
            out.write("to be".getBytes(StandardCharsets.UTF_8));
            out.closeEntry();
        }

        Path next = VersionedJar.write(jar, "1.0.7", directory);

        try (JarFile made = new JarFile(next.toFile())) {
            Attributes attributes = made.getManifest().getMainAttributes();
            assertThat(attributes.getValue("Bundle-Version")).isEqualTo("1.0.7");
            assertThat(attributes.getValue("Bundle-SymbolicName")).isEqualTo("org.acme.word-count");
            assertThat(made.getInputStream(made.getEntry("words.txt")).readAllBytes())
                    .asString(StandardCharsets.UTF_8)
                    .isEqualTo("to be");
        }
    }
}
