package io.waybill.journal.index;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.rocksdb.RocksDB;
import org.rocksdb.util.Environment;

/**
 * RocksDB's native part, loaded once per process from a private directory that is removed at once: nothing stays behind, even when the
 * process is killed later. Thread-safe.
 */
final class RocksLibrary {

    private static boolean loaded;

    private RocksLibrary() {}

    static synchronized void load() throws IOException {
        if (loaded) {
            return;
        }
        String name = Environment.getJniLibraryFileName("rocksdb");
        Path directory = Files.createTempDirectory("waybill-rocksdb"); // mode 0700
        Path library = directory.resolve(Environment.getJniLibraryFileName("rocksdbjni")); // as RocksDB looks for it
        try (InputStream bytes = RocksDB.class.getClassLoader().getResourceAsStream(name)) {
            if (bytes == null) {
                throw new FileNotFoundException(
                        "no " + name + " on the class path: RocksDB was not built for this machine");
            }
            Files.copy(bytes, library);
            RocksDB.loadLibrary(List.of(directory.toString()));
            loaded = true;
        } catch (UnsatisfiedLinkError e) {
            throw new IOException("RocksDB's native library can't be loaded: " + e.getMessage(), e);
        } finally {
            Files.deleteIfExists(library);
            Files.deleteIfExists(directory);
        }
    }
}
