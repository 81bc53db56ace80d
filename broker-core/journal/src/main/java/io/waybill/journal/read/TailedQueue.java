package io.waybill.journal.read;

import io.waybill.journal.Roll;
import io.waybill.journal.format.QueueStructure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.stream.Stream;

/** Checks the directory of a queue before Chronicle maps its files. Stateless. */
final class TailedQueue {

    private TailedQueue() {}

    /**
     * Checks that Chronicle can read a queue: it would wait for long, or fault, if the files are damaged in their
     * structure, or the table is locked.
     *
     * @throws IllegalStateException when files are damaged, or the table is locked
     */
    static void requireReadable(Path directory) {
        try {
            String problem = QueueStructure.problem(directory);
            if (!problem.isEmpty()) {
                problem = QueueStructure.problem(directory); // a live writer may have begun a file between two checks
            }
            if (problem.isEmpty()) {
                problem = TableLock.problem(directory.resolve(QueueStructure.TABLE), TableLock.Mode.READER);
            }
            if (!problem.isEmpty()) {
                throw new IllegalStateException("the queue can't be read: " + problem);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns whether a queue was begun in {@code directory}. */
    static boolean exists(Path directory) {
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return false; // listing a FIFO would block
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*.cq4")) {
            for (Path file : files) {
                if (sizeOf(file) > 0) {
                    return true;
                }
            }
            return false;
        } catch (NoSuchFileException | NotDirectoryException e) {
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the size of a file; 0 when its owner has removed it meanwhile. */
    static long sizeOf(Path file) throws IOException {
        try {
            return Files.size(file);
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    /** Returns the cycles of the present files, newest first. */
    static int[] cyclesNewestFirst(Path directory, Roll roll) {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.map(path -> roll.numberOf(path.getFileName().toString()))
                    .filter(OptionalInt::isPresent)
                    .mapToInt(number -> -number.getAsInt())
                    .sorted()
                    .map(number -> -number)
                    .toArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
