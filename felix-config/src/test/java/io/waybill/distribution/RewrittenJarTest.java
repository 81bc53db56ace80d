package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;
import picocli.CommandLine;

/** A rewritten library has all that the original has, in class files that the JVM verifies and can archive. */
@Timeout(60)
class RewrittenJarTest {

    private static final Path PICOCLI = Path.of(CommandLine.class
            .getProtectionDomain()
            .getCodeSource()
            .getLocation()
            .getPath());

    @TempDir
    Path directory;

    @Test
    void hasTheSameEntriesAndANoteInNewerClassFiles() throws IOException {
        Path rewritten = rewritten();
        try (JarFile before = new JarFile(PICOCLI.toFile());
                JarFile after = new JarFile(rewritten.toFile())) {
            TreeSet<String> names = new TreeSet<>(names(before));
            names.add(RewrittenJar.NOTE);
            assertThat(new TreeSet<>(names(after))).isEqualTo(names);
            for (String name : names(after)) {
                if (name.endsWith(".class")) {
                    int version = new ClassReader(after.getInputStream(after.getEntry(name))).readShort(6);
                    assertThat(version).as(name).isGreaterThanOrEqualTo(Opcodes.V1_8);
                }
            }
        }
    }

    @Test
    void passesTheVerifierWithEachClass() throws IOException, ClassNotFoundException {
        Path rewritten = rewritten();
        try (JarFile jar = new JarFile(rewritten.toFile());
                URLClassLoader classes = new URLClassLoader(
                        new URL[] {rewritten.toUri().toURL()}, ClassLoader.getPlatformClassLoader())) {
            int verified = 0;
            for (String name : names(jar)) {
                if (name.endsWith(".class") && !name.endsWith("module-info.class")) {
                    String type =
                            name.substring(0, name.length() - ".class".length()).replace('/', '.');
                    assertThat(Class.forName(type, true, classes).getClassLoader())
                            .isSameAs(classes);
                    verified++;
                }
            }
            assertThat(verified).isGreaterThan(100);
        }
    }

    private Path rewritten() throws IOException {
        Path rewritten = directory.resolve("picocli.jar");
        RewrittenJar.write(PICOCLI, rewritten);
        return rewritten;
    }

    private static List<String> names(JarFile jar) {
        return jar.stream().map(JarEntry::getName).toList();
    }
}
