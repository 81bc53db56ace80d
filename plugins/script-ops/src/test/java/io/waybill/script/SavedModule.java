package io.waybill.script;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.CompilationUnit;
import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.QualifiedName;
import org.bytedeco.pytorch.QualifiedNameOptional;
import org.bytedeco.pytorch.SimpleSelf;
import org.bytedeco.pytorch.global.torch;

/**
 * Makes modules as {@code torch.jit.save} writes them. What only Python's frontend can compile, such as a fork, is put in the place of a
 * module's code afterwards.
 */
final class SavedModule {

    private static final String CODE = "model/code/__torch__.py";

    private SavedModule() {}

    /** A module with a parameter {@code w} of so many ones, a buffer {@code kept}, and these methods. */
    @SuppressWarnings("try")
    static Path save(Path file, int elements, String methods) {
        try (PointerScope scope = new PointerScope()) {
            CompilationUnit unit = new CompilationUnit();
            JitModule module = new JitModule(new QualifiedName("__torch__.Model"), unit);
            module.register_parameter("w", torch.ones(elements), false);
            module.register_buffer("kept", torch.zeros(1));
            unit.define(
                    new QualifiedNameOptional(new QualifiedName("__torch__.Model")),
                    methods,
                    torch.nativeResolver(),
                    new SimpleSelf(module.type()));
            module.save(file.toString());
            return file;
        }
    }

    /** The same with code in the language of saved modules. */
    static Path saveWithCode(Path directory, String name, String code) throws IOException {
        Path plain = save(directory.resolve("model.pt"), 2, "def forward(self, x):\n    return x\n");
        Path file = directory.resolve(name + ".pt");
        try (ZipFile in = new ZipFile(plain.toFile());
                OutputStream bytes = Files.newOutputStream(file);
                ZipOutputStream out = new ZipOutputStream(bytes)) {
            for (ZipEntry entry : in.stream().toList()) {
                if (!entry.getName().endsWith(".debug_pkl")) {
                    byte[] content = entry.getName().equals(CODE)
                            ? code.getBytes(StandardCharsets.UTF_8)
                            : in.getInputStream(entry).readAllBytes();
                    put(out, entry.getName().replaceFirst("^model/", name + "/"), content);
                }
            }
        }
        Files.delete(plain);
        return file;
    }

    private static void put(ZipOutputStream out, String name, byte[] content) throws IOException {
        CRC32 checksum = new CRC32();
        checksum.update(content);
        ZipEntry entry = new ZipEntry(name);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(content.length);
        entry.setCrc(checksum.getValue());
        out.putNextEntry(entry);
        ByteArrayOutputStream copied = new ByteArrayOutputStream();
        copied.writeBytes(content);
        copied.writeTo(out);
        out.closeEntry();
    }
}
