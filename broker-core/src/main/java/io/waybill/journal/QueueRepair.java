package io.waybill.journal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a queue ready for its writer again after a crash or damage, as far as nothing that was ever appended is touched: Chronicle's
 * table is derived and made anew, and a file that a crash left without a header holds nothing. For the owner, under its lock. Stateless.
 */
final class QueueRepair {

    private static final Logger LOG = LoggerFactory.getLogger(QueueRepair.class);
    private static final int CHUNK = 64 << 10;

    private QueueRepair() {}

    static void prepare(Path directory) throws IOException {
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + Roll.FILE_SUFFIX)) {
            for (Path file : files) {
                if (Files.size(file) > 0 && !QueueStructure.hasFileHeader(file) && isBlank(file)) {
                    LOG.warn("{}: begun, and nothing was written before a crash; it is begun anew", file);
                    Files.delete(file);
                }
            }
        }
        String problem = QueueStructure.tableProblem(directory);
        if (!problem.isEmpty()) {
            LOG.warn("{}; it is made anew from the files", problem);
            Files.delete(directory.resolve(QueueStructure.TABLE));
        }
    }

    /** Whether nothing but zeros lies behind the first few bytes, where the header begins. */
    private static boolean isBlank(Path file) throws IOException {
        byte[] chunk = new byte[CHUNK];
        int skip = QueueStructure.HEAD_BYTES;
        try (InputStream bytes = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
            for (int read = bytes.readNBytes(chunk, 0, CHUNK); read > 0; read = bytes.readNBytes(chunk, 0, CHUNK)) {
                for (int i = skip; i < read; i++) {
                    if (chunk[i] != 0) {
                        return false;
                    }
                }
                skip = 0;
            }
        }
        return true;
    }
}
