package io.waybill.conformance.harness;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * A saved module as {@code torch.jit.save} writes it, made from its code alone: what libtorch does not compile by
 * itself, such as a fork, comes to a node this way. The module has the type {@code __torch__.Model} and one attribute,
 * {@code training}. Stateless.
 */
final class ModuleFile {

    /**
     * An object of {@code __torch__.Model} with {@code {'training': True}}, in the second version of pickle's protocol.
     */
    private static final String DATA = "\u0080\u0002c__torch__\nModel\n)\u0081}(X\b\0\0\0training\u0088ub.";
    /** An empty tuple. */
    private static final String CONSTANTS = "\u0080\u0002).";

    private static final String VERSION = "3\n";

    private ModuleFile() {}

    /**
     * The bytes of the file.
     *
     * @param name of the file without its ending
     * @param code in the language of saved modules
     */
    static byte[] of(String name, String code) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream out = new ZipOutputStream(bytes)) {
            put(out, name + "/data.pkl", DATA.getBytes(StandardCharsets.ISO_8859_1));
            put(out, name + "/code/__torch__.py", code.getBytes(StandardCharsets.UTF_8));
            put(out, name + "/constants.pkl", CONSTANTS.getBytes(StandardCharsets.ISO_8859_1));
            put(out, name + "/version", VERSION.getBytes(StandardCharsets.ISO_8859_1));
        }
        return bytes.toByteArray();
    }

    /** libtorch reads nothing that is compressed. */
    private static void put(ZipOutputStream out, String name, byte[] content) throws IOException {
        CRC32 checksum = new CRC32();
        checksum.update(content);
        ZipEntry entry = new ZipEntry(name);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(content.length);
        entry.setCrc(checksum.getValue());
        out.putNextEntry(entry);
        out.write(content);
        out.closeEntry();
    }
}
