package io.waybill.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class OtherVersionTest {

    @TempDir
    Path directory;

    @Test
    void changesTheVersionAndNothingElse() throws IOException {
        Path first = directory.resolve("first.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Bundle-SymbolicName", "some.bundle");
        manifest.getMainAttributes().putValue("Bundle-Version", "1.0.0");
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(first), manifest)) {
            jar.putNextEntry(new JarEntry("some/Content.txt"));
            jar.write("content".getBytes(StandardCharsets.UTF_8));
        }

        Path second = directory.resolve("second.jar");
        OtherVersion.write(first, "2.0.0", second);

        try (JarFile jar = new JarFile(second.toFile());
                InputStream content = jar.getInputStream(jar.getEntry("some/Content.txt"))) {
            assertThat(jar.getManifest().getMainAttributes().getValue("Bundle-Version"))
                    .isEqualTo("2.0.0");
            assertThat(jar.getManifest().getMainAttributes().getValue("Bundle-SymbolicName"))
                    .isEqualTo("some.bundle");
            assertThat(content.readAllBytes()).asString(StandardCharsets.UTF_8).isEqualTo("content");
        }
    }
}
