package io.waybill.cli;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * A private directory that goes away with all that is in it. Links in it are removed, never followed.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Its maker closes it; doing so again does nothing.
 */
final class TemporaryDirectory implements AutoCloseable {

    private final Path path;

    private TemporaryDirectory(Path path) {
        this.path = path;
    }

    static TemporaryDirectory in(Path parent, String prefix) throws IOException {
        return new TemporaryDirectory(Files.createTempDirectory(parent, prefix));
    }

    Path path() {
        return path;
    }

    @Override
    public synchronized void close() throws IOException {
        if (!Files.exists(path)) {
            return;
        }
        Files.walkFileTree(path, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
                if (e instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE; // a process that ends removed it itself
                }
                throw e;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, IOException e) throws IOException {
                Files.deleteIfExists(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
