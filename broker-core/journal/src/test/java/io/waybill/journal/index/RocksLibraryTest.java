package io.waybill.journal.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.RocksDB;
import org.rocksdb.util.Environment;

/** Where RocksDB's native library is loaded from. A process loads it once, so each case has its own. */
@Timeout(120)
class RocksLibraryTest {

    @TempDir
    private Path directory;

    /** Loads the library, and prints where it is mapped from. */
    public static void main(String[] arguments) throws IOException {
        RocksLibrary.load();
        Files.readAllLines(Path.of("/proc/self/maps")).stream()
                .filter(line -> line.contains("rocksdbjni"))
                .map(line -> line.substring(line.indexOf('/')))
                .findFirst()
                .ifPresent(System.out::println);
    }

    @Test
    void isLoadedFromADirectoryRelativeToTheProcess() throws Exception {
        Path library = Files.createDirectories(directory.resolve("lib/native"))
                .resolve(Environment.getJniLibraryFileName("rocksdbjni"));
        try (InputStream bytes =
                RocksDB.class.getClassLoader().getResourceAsStream(Environment.getJniLibraryFileName("rocksdb"))) {
            Files.copy(bytes, library);
        }
        assertThat(loadedFrom("lib/native")).isEqualTo(library.toRealPath().toString());
        assertThat(loadedFrom("lib/none")).as("its own private copy").contains("waybill-rocksdb");
    }

    private String loadedFrom(String property) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-D" + RocksLibrary.DIRECTORY_PROPERTY + "=" + property,
                        RocksLibraryTest.class.getName())
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        try {
            String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).as(printed).isZero();
            return printed.lines().reduce((before, last) -> last).orElseThrow(); // behind a JVM's warnings
        } finally {
            process.destroyForcibly();
        }
    }
}
