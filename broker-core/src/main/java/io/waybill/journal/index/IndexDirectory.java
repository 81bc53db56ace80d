package io.waybill.journal.index;

import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** Where a worker's index lies, and how its owner makes room for a new one. Immutable. */
final class IndexDirectory {

    private static final String NAME = "index";
    private static final int MAX_ENTRIES = 10_000;

    private final Path path;
    private final SafeFiles files;

    IndexDirectory(Path workerDirectory, SafeFiles files) {
        this.path = workerDirectory.resolve(NAME);
        this.files = files;
    }

    Path path() {
        return path;
    }

    /** Whether anything lies there. */
    boolean exists() {
        return Files.exists(path, LinkOption.NOFOLLOW_LINKS);
    }

    /** Makes the directory when it is missing, and checks all that lies in it. For its owner. */
    void prepare() throws IOException {
        files.createPrivateDirectory(path);
        IndexStore.requireSafe(path, files);
    }

    /** Removes what is there: it can be rebuilt. For its owner. No link is followed. */
    void clear() throws IOException {
        remove(path);
    }

    private void remove(Path entry) throws IOException {
        if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
            for (Path inner : files.list(entry, MAX_ENTRIES)) {
                remove(inner);
            }
            Files.delete(entry);
        } else {
            files.remove(entry);
        }
    }
}
