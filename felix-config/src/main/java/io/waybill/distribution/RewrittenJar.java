package io.waybill.distribution;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;

/**
 * A library whose class files are older than those that the JVM keeps in its archive of classes, in a newer version of
 * the same format. Their instructions stay as they are; stack maps are added, which newer versions require.
 */
final class RewrittenJar {

    /** Says in the jar what was changed, as the Apache License asks. */
    static final String NOTE = "META-INF/MODIFIED";

    private static final int VERSION = Opcodes.V1_8;

    private RewrittenJar() {}

    static void write(Path original, Path target) throws IOException {
        try (JarFile jar = new JarFile(original.toFile());
                URLClassLoader classes =
                        new URLClassLoader(new URL[] {original.toUri().toURL()}, ClassLoader.getPlatformClassLoader());
                OutputStream file = Files.newOutputStream(target);
                JarOutputStream out = new JarOutputStream(file)) {
            List<JarEntry> entries = jar.stream().toList();
            for (JarEntry entry : entries) {
                try (InputStream in = jar.getInputStream(entry)) {
                    byte[] bytes = in.readAllBytes();
                    add(out, entry.getName(), entry.getTime(), isClass(entry) ? newer(bytes, classes) : bytes);
                }
            }
            String note =
                    "The class files of this jar were changed by the Waybill authors: from older versions of the format to version "
                            + VERSION + ". All else is as in " + original.getFileName() + " of its authors.\n";
            add(out, NOTE, entries.get(0).getTime(), note.getBytes(StandardCharsets.UTF_8));
        }
    }

    private static void add(JarOutputStream out, String name, long time, byte[] bytes) throws IOException {
        JarEntry entry = new JarEntry(name);
        entry.setTime(time);
        out.putNextEntry(entry);
        out.write(bytes);
        out.closeEntry();
    }

    private static boolean isClass(JarEntry entry) {
        return entry.getName().endsWith(".class") && !entry.getName().endsWith("module-info.class");
    }

    private static byte[] newer(byte[] bytes, ClassLoader classes) {
        ClassReader reader = new ClassReader(bytes);
        if (reader.readShort(6) >= VERSION) {
            return bytes;
        }
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_FRAMES) {
            @Override
            protected ClassLoader getClassLoader() {
                return classes;
            }
        };
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public void visit(
                            int version,
                            int access,
                            String name,
                            String signature,
                            String superName,
                            String[] interfaces) {
                        super.visit(VERSION, access, name, signature, superName, interfaces);
                    }
                },
                0);
        return writer.toByteArray();
    }
}
