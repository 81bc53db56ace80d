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
 * Native library of RocksDB, loaded once per process: from the directory in the property {@value #DIRECTORY_PROPERTY},
 * if set, as the launcher of a distribution does; else from a private directory that is removed at once, so that
 * nothing remains even if the process is killed later. Thread-safe.
 */
final class RocksLibrary {

    static final String DIRECTORY_PROPERTY = "waybill.rocksdb.natives";

    private static boolean loaded;

    private RocksLibrary() {}

    static synchronized void load() throws IOException {
        if (loaded) {
            return;
        }
        String unpacked = System.getProperty(DIRECTORY_PROPERTY);
        try {
            if (unpacked != null && Files.exists(Path.of(unpacked, fileName()))) {
                RocksDB.loadLibrary(List.of(Path.of(unpacked).toAbsolutePath().toString()));
            } else {
                unpackAndLoad();
            }
            loaded = true;
        } catch (UnsatisfiedLinkError e) {
            throw new IOException("RocksDB's native library can't be loaded: " + e.getMessage(), e);
        }
    }

    /** Returns the file name that RocksDB expects in a directory. */
    private static String fileName() {
        return Environment.getJniLibraryFileName("rocksdbjni");
    }

    private static void unpackAndLoad() throws IOException {
        String name = Environment.getJniLibraryFileName("rocksdb");
        Path directory = Files.createTempDirectory("waybill-rocksdb"); // mode 0700
        Path library = directory.resolve(fileName());
        try (InputStream bytes = RocksDB.class.getClassLoader().getResourceAsStream(name)) {
            if (bytes == null) {
                throw new FileNotFoundException(
                        "no " + name + " on the class path: RocksDB was not built for this machine");
            }
            Files.copy(bytes, library);
            RocksDB.loadLibrary(List.of(directory.toString()));
        } finally {
            Files.deleteIfExists(library);
            Files.deleteIfExists(directory);
        }
    }
}
