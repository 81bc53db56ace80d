package io.waybill.cli.command;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;

/** Directory that a command fills. Stateless. */
public final class NewDirectory {

    private NewDirectory() {}

    /** Creates the directory, for its owner alone, or uses an empty one. */
    public static void make(Path directory) throws IOException, CommandFailedException {
        if (!Files.exists(directory)) {
            Files.createDirectories(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        }
        if (!Files.isDirectory(directory)) {
            throw new CommandFailedException(directory + " is no directory: name one that is empty or not there");
        }
        try (Stream<Path> entries = Files.list(directory)) {
            if (entries.findAny().isPresent()) {
                throw new CommandFailedException(
                        directory + " is not empty: name a directory that is empty or not there");
            }
        }
    }
}
