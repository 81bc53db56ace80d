package io.waybill.osgi.jar;

import io.waybill.dispatch.Provider;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.Manifest;

/** Checks a jar, whose bundle may not have started, for components that provide a kind of service. */
public final class ComponentDeclaration {

    private static final int MAX_BYTES = 1 << 20; // max size of the manifest, and of a description

    private ComponentDeclaration() {}

    /**
     * Returns the bundle of a jar that describes a component of this kind; empty if it describes none, or can't be
     * read.
     */
    public static Optional<Provider> in(Path path, Class<?> kind) {
        try (JarFile jar = new JarFile(path.toFile(), false)) {
            Manifest manifest = manifest(jar);
            String name = manifest.getMainAttributes().getValue("Bundle-SymbolicName");
            if (name == null || jar.stream().noneMatch(entry -> describes(kind, jar, entry))) {
                return Optional.empty();
            }
            String version = manifest.getMainAttributes().getValue("Bundle-Version");
            return Optional.of(new Provider(name.split(";", 2)[0].strip(), version == null ? "0.0.0" : version));
        } catch (IOException | RuntimeException e) { // the installation reports the same reason
            return Optional.empty();
        }
    }

    /** Reads the manifest with a max size, which {@link JarFile#getManifest} lacks. */
    private static Manifest manifest(JarFile jar) throws IOException {
        JarEntry entry = jar.getJarEntry(JarFile.MANIFEST_NAME);
        if (entry == null) {
            return new Manifest();
        }
        try (InputStream in = jar.getInputStream(entry)) {
            return new Manifest(new ByteArrayInputStream(in.readNBytes(MAX_BYTES)));
        }
    }

    private static boolean describes(Class<?> kind, JarFile jar, JarEntry entry) {
        if (!entry.getName().startsWith("OSGI-INF/") || !entry.getName().endsWith(".xml")) {
            return false;
        }
        try (InputStream in = jar.getInputStream(entry)) {
            String text = new String(in.readNBytes(MAX_BYTES), StandardCharsets.UTF_8);
            return text.contains('"' + kind.getName() + '"');
        } catch (IOException e) {
            return false;
        }
    }
}
