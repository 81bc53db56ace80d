package io.waybill.cli.command;

import io.waybill.host.DirectoryTree;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A private directory that goes away with all that is in it. Links in it are removed, never followed.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Its maker closes it; doing so again does nothing.
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
