package io.waybill.script.source;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * Writer of a source as a file in the form of {@code torch.jit.save}: a module without state, whose code uses all
 * functions. Libtorch's importer of such files supports classes, named tuples and forks; its compiler of plain texts
 * does not.
 */
public final class SourceArchive {

    /** Version of the operators in the code, as written by this bundle's libtorch. */
    private static final String VERSION = "10\n";

    /** Pickle of an object of the class {@code __torch__.Root}, without attributes. */
    private static final String ROOT = "\u0080\u0002c__torch__\nRoot\n)\u0081}b.";

    /** Pickle of an empty tuple. */
    private static final String NOTHING = "\u0080\u0002).";

    private SourceArchive() {}

    /** Writes the file. */
    public static void write(SourceText source, Path file) throws IOException {
        try (OutputStream bytes = Files.newOutputStream(file);
                ZipOutputStream out = new ZipOutputStream(bytes)) {
            put(out, "data.pkl", ROOT.getBytes(StandardCharsets.ISO_8859_1));
            put(out, "constants.pkl", NOTHING.getBytes(StandardCharsets.ISO_8859_1));
            put(out, "version", VERSION.getBytes(StandardCharsets.US_ASCII));
            put(out, "code/__torch__.py", source.root().getBytes(StandardCharsets.UTF_8));
            for (Map.Entry<String, String> code : source.files().entrySet()) {
                put(out, "code/__torch__/" + code.getKey(), code.getValue().getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private static void put(ZipOutputStream out, String name, byte[] content) throws IOException {
        CRC32 checksum = new CRC32();
        checksum.update(content);
        ZipEntry entry = new ZipEntry("script/" + name);
        entry.setMethod(ZipEntry.STORED); // libtorch reads no others
        entry.setSize(content.length);
        entry.setCrc(checksum.getValue());
        out.putNextEntry(entry);
        out.write(content);
        out.closeEntry();
    }
}
