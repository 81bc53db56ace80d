package io.waybill.osgi.jar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class ShippedBundlesTest {

    @TempDir
    Path directory;

    @BeforeEach
    void shipBundles() throws IOException {
        bundle("1/framework.jar", "org.framework");
        bundle("5/natives-1.0.jar", "org.acme.natives;singleton:=true");
        bundle("10/count-1.0.jar", "org.acme.count");
        bundle("10/ops-1.0.jar", "org.acme.ops");
        Files.writeString(directory.resolve("10/broken.jar"), "no jar");
    }

    private void bundle(String file, String symbolicName) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Bundle-SymbolicName", symbolicName);
        Path path = directory.resolve(file);
        Files.createDirectories(path.getParent());
        try (OutputStream out = Files.newOutputStream(path);
                JarOutputStream jar = new JarOutputStream(out, manifest)) {
            jar.finish();
        }
    }

    private List<String> files(ShippedBundles shipped) throws IOException {
        return shipped.in(directory).stream()
                .map(jar -> directory.relativize(jar.path()).toString())
                .toList();
    }

    @Test
    void startsAllInTheOrderOfLevels() throws IOException {
        assertThat(files(ShippedBundles.ALL))
                .containsExactly(
                        "1/framework.jar", "5/natives-1.0.jar", "10/broken.jar", "10/count-1.0.jar", "10/ops-1.0.jar");
    }

    @Test
    void startsThoseThatAreNamedAndTheFrameworks() throws IOException {
        assertThat(files(ShippedBundles.named(Set.of("org.acme.natives", "org.acme.ops"))))
                .containsExactly("1/framework.jar", "5/natives-1.0.jar", "10/ops-1.0.jar");
        assertThat(files(ShippedBundles.named(Set.of()))).containsExactly("1/framework.jar");
    }

    @Test
    void saysWhatThereIsWhenOneIsNamedThatIsNot() {
        assertThatThrownBy(() -> files(ShippedBundles.named(Set.of("org.acme.counter"))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("osgi.shipped names [org.acme.counter], and " + directory
                        + " has [org.acme.count, org.acme.natives, org.acme.ops]");
    }

    @Test
    void refusesADirectoryThatIsNoLevel() throws IOException {
        bundle("last/more.jar", "org.acme.more");
        assertThatThrownBy(() -> files(ShippedBundles.ALL)).hasMessageContaining("named for their start level");
    }
}
