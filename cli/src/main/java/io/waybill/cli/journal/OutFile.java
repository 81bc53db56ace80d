package io.waybill.cli.journal;

import io.waybill.cli.command.CommandFailedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** File that a command writes. Stateless. */
final class OutFile {

    private OutFile() {}

    /** Throws unless the file's directory exists and is outside the home, to which no command writes. */
    static void requireOutside(Path out, Path home) throws IOException, CommandFailedException {
        Path parent = out.toAbsolutePath().getParent();
        if (parent == null || !Files.isDirectory(parent)) {
            throw new CommandFailedException(parent + " is no directory: make it, or give another file");
        }
        if (parent.toRealPath().startsWith(home)) {
            throw new CommandFailedException(
                    out + " lies in the home, into which nothing is written: give another file");
        }
    }
}
