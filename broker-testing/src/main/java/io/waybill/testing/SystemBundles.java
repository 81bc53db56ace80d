package io.waybill.testing;

import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.jar.Manifest;

/** The bundles that every framework of Waybill starts with, from the class path. Stateless. */
final class SystemBundles {

    private record Needed(String symbolicName, int startLevel) {}

    private static final List<Needed> ALL =
            List.of(new Needed("org.apache.felix.configadmin", 1), new Needed("org.apache.felix.scr", 2));

    private SystemBundles() {}

    /** Copies the bundles to directories that are named after their start levels. */
    static void copyTo(Path directory) throws IOException {
        for (Needed bundle : ALL) {
            Path level = Files.createDirectories(directory.resolve(Integer.toString(bundle.startLevel)));
            try (InputStream jar = find(bundle.symbolicName).openStream()) {
                Files.copy(jar, level.resolve(bundle.symbolicName + ".jar"));
            }
        }
    }

    /** @throws IllegalStateException if it is not on the class path */
    private static URL find(String symbolicName) throws IOException {
        ClassLoader loader = SystemBundles.class.getClassLoader();
        for (URL url : Collections.list(loader.getResources("META-INF/MANIFEST.MF"))) {
            if (url.openConnection() instanceof JarURLConnection connection) {
                Manifest manifest = connection.getManifest();
                String name = manifest.getMainAttributes().getValue("Bundle-SymbolicName");
                if (name != null && name.split(";")[0].strip().equals(symbolicName)) {
                    return connection.getJarFileURL();
                }
            }
        }
        throw new IllegalStateException(
                "the bundle " + symbolicName + " is not on the class path: broker-testing brings it as a dependency");
    }
}
