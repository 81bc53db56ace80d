package io.waybill.cli.command;

import io.waybill.host.DirectoryTree;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Private directory that is removed with all its content. Links in it are removed, never followed.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Its creator closes it; closing is idempotent.
 */
public final class ScratchDirectory implements Closeable {

    private final Path path;

    private ScratchDirectory(Path path) {
        this.path = path;
    }

    public static ScratchDirectory in(Path parent, String prefix) throws IOException {
        return new ScratchDirectory(Files.createTempDirectory(parent, prefix));
    }

    public Path path() {
        return path;
    }

    @Override
    public synchronized void close() throws IOException {
        DirectoryTree.remove(path);
    }
}
