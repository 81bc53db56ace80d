package io.waybill.journal.index;

import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** Directory of a worker's index; its owner can replace the content. Immutable. */
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

    /** Returns whether the directory exists. */
    boolean exists() {
        return Files.exists(path, LinkOption.NOFOLLOW_LINKS);
    }

    /** Creates the directory when it is missing, and checks its content. For its owner. */
    void prepare() throws IOException {
        files.createPrivateDirectory(path);
        IndexStore.requireSafe(path, files);
    }

    /** Removes the content: it can be rebuilt. For its owner. No link is followed. */
    void clear() throws IOException {
        remove(path);
    }

    private void remove(Path entry) throws IOException {
        if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
            for (Path inner : files.list(entry, MAX_ENTRIES)) {
                remove(inner);
            }
            files.tree().removeEmpty(entry);
        } else {
            files.remove(entry);
        }
    }
}
