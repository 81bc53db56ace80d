package io.waybill.testing;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/**
 * A bundle as a jar, from a jar or from a directory with what will be in one. Immutable.
 *
 * @param symbolicName without its directives
 */
record BundleJar(Path path, String symbolicName, String version) {

    private static final Attributes.Name SYMBOLIC_NAME = new Attributes.Name("Bundle-SymbolicName");
    private static final Attributes.Name VERSION = new Attributes.Name("Bundle-Version");

    /**
     * Opens a bundle; packs a directory to a jar first.
     *
     * @param bundle a jar, or a directory such as bnd leaves in {@code target/classes}
     */
    static BundleJar of(Path bundle, Path packed) throws IOException {
        return Files.isDirectory(bundle) ? pack(bundle, packed) : ofJar(bundle);
    }

    private static BundleJar ofJar(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            return of(jar, jar, file.getManifest());
        }
    }

    private static BundleJar of(Path asked, Path jar, Manifest manifest) {
        String name = manifest == null ? null : manifest.getMainAttributes().getValue(SYMBOLIC_NAME);
        if (name == null) {
            throw new IllegalArgumentException(
                    asked
                            + " is no bundle: its META-INF/MANIFEST.MF has no Bundle-SymbolicName; does bnd run before the tests?");
        }
        String version = manifest.getMainAttributes().getValue(VERSION);
        return new BundleJar(jar, name.split(";")[0].strip(), version == null ? "0.0.0" : version);
    }

    private static BundleJar pack(Path directory, Path packed) throws IOException {
        Path file = directory.resolve(JarFile.MANIFEST_NAME);
        Manifest manifest = new Manifest();
        if (Files.exists(file)) {
            try (InputStream in = Files.newInputStream(file)) {
                manifest.read(in);
            }
        }
        Path jar = Files.createTempFile(packed, "bundle-", ".jar");
        BundleJar bundle = of(directory, jar, manifest);
        try (Stream<Path> files = Files.walk(directory);
                JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
            List<Path> content = files.filter(Files::isRegularFile).sorted().toList();
            for (Path each : content) {
                if (!each.equals(file)) {
                    out.putNextEntry(new JarEntry(directory.relativize(each).toString()));
                    Files.copy(each, out);
                    out.closeEntry();
                }
            }
        }
        return bundle;
    }

    /** Returns the same content with a later version. */
    BundleJar next(Path packed) throws IOException {
        String[] parts = version.split("\\.");
        int micro = parts.length > 2 ? Integer.parseInt(parts[2]) : 0;
        String next = parts[0] + "." + (parts.length > 1 ? parts[1] : "0") + "." + (micro + 1);
        Path jar = Files.createTempFile(packed, "bundle-", ".jar");
        try (InputStream in = new BufferedInputStream(Files.newInputStream(path));
                JarInputStream entries = new JarInputStream(in)) {
            Manifest manifest = entries.getManifest();
            manifest.getMainAttributes().put(VERSION, next);
            try (OutputStream file = Files.newOutputStream(jar);
                    JarOutputStream out = new JarOutputStream(file, manifest)) {
                for (JarEntry entry = entries.getNextJarEntry(); entry != null; entry = entries.getNextJarEntry()) {
                    out.putNextEntry(new JarEntry(entry.getName()));
                    entries.transferTo(out);
                    out.closeEntry();
                }
            }
        }
        return new BundleJar(jar, symbolicName, next);
    }

    @Override
    public String toString() {
        return symbolicName + " " + version;
    }
}
