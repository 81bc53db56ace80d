package io.waybill.journal.recover;

import io.waybill.host.SafeFiles;
import io.waybill.journal.RollFile;
import io.waybill.journal.format.QueueStructure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Extent of a queue: its files, and signs of lost files in its directory. Immutable.
 *
 * @param newest number of its newest file that was begun; empty when none was
 * @param empty newest file without content
 * @param lost file newer than all present ones, which Chronicle's table lists: it was removed, and not by retention,
 * which removes the oldest
 * @param wasReady whether its worker once opened the queue, and so began a file
 */
public record QueueExtent(OptionalInt newest, Optional<Path> empty, Optional<Path> lost, boolean wasReady) {

    private static final QueueExtent NOTHING =
            new QueueExtent(OptionalInt.empty(), Optional.empty(), Optional.empty(), false);

    /** Returns whether files, or their content, are known to be lost. */
    public boolean isLost() {
        return lost.isPresent() || wasReady && newest.isEmpty();
    }

    /** Reads the names and the first bytes of the files, the table before the files. */
    public static QueueExtent of(Path directory, SafeFiles files) throws IOException {
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return NOTHING;
        }
        try {
            Optional<Path> listed = QueueStructure.newestListed(directory);
            boolean wasReady = BootMark.isThere(directory);
            List<RollFile> rolled = RollFile.in(directory, files);
            OptionalInt newest = OptionalInt.empty();
            Optional<Path> empty = Optional.empty();
            for (RollFile file : rolled) {
                if (isBegun(file.path())) {
                    newest = OptionalInt.of(file.cycle());
                } else {
                    empty = Optional.of(file.path());
                }
            }
            return new QueueExtent(newest, empty, listed.filter(path -> isNewer(path, rolled)), wasReady);
        } catch (NoSuchFileException | NotDirectoryException e) {
            return NOTHING;
        }
    }

    private static boolean isBegun(Path file) throws IOException {
        try {
            return !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) || !QueueStructure.isUnpublished(file);
        } catch (NoSuchFileException e) {
            return false; // its owner has removed it meanwhile
        }
    }

    /** Compares the names, which sort by time. */
    private static boolean isNewer(Path listed, List<RollFile> rolled) {
        String name = listed.getFileName().toString();
        return rolled.stream()
                .allMatch(file -> file.path().getFileName().toString().compareTo(name) < 0);
    }
}
