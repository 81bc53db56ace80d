package io.waybill.salvage;

import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Copies the files of a worker except its queues, byte by byte. Omits links, FIFOs and files of other owners. One
 * thread.
 */
final class FileCopies {

    /**
     * Files of operators, and those needed for replay; all others are derived, or useful only to the process that
     * created them.
     */
    private static final List<String> DIRECTORIES =
            List.of("archive/requests", "archive/responses", "bundles", "scripts", "osgi/installed");

    private static final int MAX_FILES = 10_000_000;

    private final Path from;
    private final Path to;
    private final SafeFiles files;
    private final Consumer<String> problems;
    private long copied;

    FileCopies(Path from, Path to, SafeFiles files, Consumer<String> problems) {
        this.from = from;
        this.to = to;
        this.files = files;
        this.problems = problems;
    }

    void copyDirectories() {
        for (String name : DIRECTORIES) {
            copy(name, file -> true);
        }
    }

    /** Copies one file, if it exists. */
    void copyFile(String name) {
        if (Files.exists(from.resolve(name), LinkOption.NOFOLLOW_LINKS)) {
            copyFile(from.resolve(name), to.resolve(name));
        }
    }

    /** Copies the undamaged files of a directory, as far as that can be checked. */
    void copy(String directory, Predicate<Path> isWhole) {
        Path source = from.resolve(directory);
        if (!Files.exists(source, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            Path target = to;
            for (Path part : Path.of(directory)) {
                target = files.createPrivateDirectory(target.resolve(part));
            }
            List<Path> entries = files.list(source, MAX_FILES);
            entries.sort(Comparator.naturalOrder());
            for (Path entry : entries) {
                if (isWhole.test(entry)) {
                    copyFile(entry, target.resolve(entry.getFileName()));
                }
            }
        } catch (IOException e) {
            problems.accept(String.valueOf(e.getMessage()));
        }
    }

    private void copyFile(Path source, Path target) {
        try (FileChannel in = files.openForReading(source, Long.MAX_VALUE)) {
            long size = in.size();
            FreeSpace.requireRoom(target, size);
            files.replaceUnsynced(target, out -> {
                long at = 0;
                long more = 1;
                while (at < size && more > 0) {
                    more = in.transferTo(at, size - at, out);
                    at += more;
                }
                out.force(true);
            });
            copied++;
        } catch (IOException e) {
            problems.accept(String.valueOf(e.getMessage()));
        }
    }

    long copied() {
        return copied;
    }
}
