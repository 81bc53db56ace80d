package io.waybill.cli.demo;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/** Creates another version of a bundle: the same content with another version number. Stateless. */
final class OtherVersion {

    private OtherVersion() {}

    static void write(Path jar, String version, Path target) throws IOException {
        try (InputStream in = Files.newInputStream(jar);
                JarInputStream entries = new JarInputStream(in)) {
            Manifest manifest = entries.getManifest();
            manifest.getMainAttributes().putValue("Bundle-Version", version);
            try (OutputStream out = Files.newOutputStream(target);
                    JarOutputStream copy = new JarOutputStream(out, manifest)) {
                for (JarEntry entry = entries.getNextJarEntry(); entry != null; entry = entries.getNextJarEntry()) {
                    copy.putNextEntry(new JarEntry(entry.getName()));
                    entries.transferTo(copy);
                    copy.closeEntry();
                }
            }
        }
    }
}
