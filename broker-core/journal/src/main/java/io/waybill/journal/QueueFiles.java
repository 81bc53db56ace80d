package io.waybill.journal;

import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Files of one queue of a worker's journal, with the files of its archive: their sizes, and their removal.
 *
 * <p>A file is renamed before it is removed. From then on no reader finds it, and its space is released without a
 * waiting thread. A reader that has it open can finish it.
 *
 * <p><b>Threads.</b> One at a time; {@link #remove} for the worker that owns them.
 */
public final class QueueFiles {

    static final String REMOVED_SUFFIX = ".removed";

    private static final String ARCHIVE = "archive";
    private static final String ARCHIVE_SUFFIX = ".wba";
    private static final int MAX_FILES = 1_000_000;

    private final JournalQueue queue;
    private final Path directory;
    private final Path archive;
    private final SafeFiles files;

    public QueueFiles(Path workerDirectory, JournalQueue queue, SafeFiles files) {
        this.queue = queue;
        this.directory = queue.in(workerDirectory);
        this.archive = workerDirectory.resolve(ARCHIVE).resolve(queue.directoryName());
        this.files = files;
    }

    /** Lists the files, oldest first. */
    public List<QueueFile> list() throws IOException {
        List<QueueFile> found = new ArrayList<>();
        boolean archives = Files.isDirectory(archive, LinkOption.NOFOLLOW_LINKS);
        try {
            for (RollFile file : RollFile.in(directory, files)) {
                add(file, archives, found);
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            return List.of(); // the worker never wrote
        }
        return found;
    }

    private void add(RollFile file, boolean archives, List<QueueFile> found) throws IOException {
        try {
            long bytes = files.allocatedBytes(file.path()) + (archives ? archivedBytes(file.path()) : 0);
            long writtenMs = Files.getLastModifiedTime(file.path(), LinkOption.NOFOLLOW_LINKS)
                    .toMillis();
            found.add(new QueueFile(queue, file, bytes, writtenMs));
        } catch (NoSuchFileException e) {
            // its owner has removed it meanwhile
        }
    }

    private long archivedBytes(Path file) throws IOException {
        try {
            return files.allocatedBytes(archiveOf(file));
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    private Path archiveOf(Path file) {
        String name = file.getFileName().toString();
        return archive.resolve(name.substring(0, name.length() - Roll.FILE_SUFFIX.length()) + ARCHIVE_SUFFIX);
    }

    /**
     * Removes a file and its archive.
     *
     * @param unlist removes it from Chronicle's table, before the file is missing
     */
    public void remove(QueueFile file, Runnable unlist) throws IOException {
        Path aside = file.path().resolveSibling(file.path().getFileName() + REMOVED_SUFFIX);
        files.renameWithin(file.path(), aside);
        unlist.run();
        files.remove(aside);
        if (Files.isDirectory(archive, LinkOption.NOFOLLOW_LINKS)) {
            files.remove(archiveOf(file.path()));
        }
    }

    /** Removes the remains of a removal that a crash interrupted. */
    public void clean() throws IOException {
        for (Path path : files.list(directory, MAX_FILES)) {
            if (path.getFileName().toString().endsWith(Roll.FILE_SUFFIX + REMOVED_SUFFIX)) {
                files.remove(path);
            }
        }
    }
}
