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
     * Over files that are damaged in their structure, or a table that is locked, Chronicle would wait for long, or fault.
     *
     * @throws IllegalStateException when they are
     */
    static void requireReadable(Path directory) {
        try {
            String problem = QueueStructure.problem(directory);
            if (!problem.isEmpty()) {
                problem = QueueStructure.problem(directory); // a live writer may have begun a file between two looks
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

    /** Whether a queue was begun in {@code directory}. */
    static boolean exists(Path directory) {
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return false; // to list a FIFO would block
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

    /** 0 for a file that its owner has removed meanwhile. */
    static long sizeOf(Path file) throws IOException {
        try {
            return Files.size(file);
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    /** The cycles of the files that are there. */
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
