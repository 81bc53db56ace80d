package io.waybill.bench.measure;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/** Makes further versions of a bundle: the same classes under another {@code Bundle-Version}. */
public final class VersionedJar {

    private VersionedJar() {}

    /** Writes a version whose predecessor serves until it has started. */
    public static Path write(Path jar, String version, Path directory) throws IOException {
        return write(jar, version, directory, false);
    }

    /** @param exclusive whether its predecessor stops before it starts */
    public static Path write(Path jar, String version, Path directory, boolean exclusive) throws IOException {
        Path target = directory.resolve("version-" + version + ".jar");
        try (InputStream source = Files.newInputStream(jar);
                JarInputStream from = new JarInputStream(source)) {
            Manifest manifest = new Manifest(from.getManifest());
            manifest.getMainAttributes().put(new Attributes.Name("Bundle-Version"), version);
            if (exclusive) {
                manifest.getMainAttributes().put(new Attributes.Name("Provide-Capability"), "waybill.exclusive");
            }
            try (OutputStream sink = Files.newOutputStream(target);
                    JarOutputStream to = new JarOutputStream(sink, manifest)) {
                for (JarEntry entry = from.getNextJarEntry(); entry != null; entry = from.getNextJarEntry()) {
                    to.putNextEntry(new JarEntry(entry.getName()));
                    from.transferTo(to);
                    to.closeEntry();
                }
            }
        }
        return target;
    }
}
