package io.waybill.host;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Thrown when a file or directory is not what the broker may open: of another kind, another owner, too open or too
 * large.
 */
public sealed class UnsafeFileException extends IOException {
    private static final long serialVersionUID = 1L;

    private final String path;
    private final String expected;
    private final String found;

    public UnsafeFileException(Path path, String expected, String found) {
        super(path + ": expected " + expected + ", found " + found);
        this.path = path.toString();
        this.expected = expected;
        this.found = found;
    }

    public String path() {
        return path;
    }

    public String expected() {
        return expected;
    }

    public String found() {
        return found;
    }

    /** Thrown when a file lost its last name between opening and checking it: it was replaced, or removed. */
    static final class ReplacedFileException extends UnsafeFileException {

        private static final long serialVersionUID = 1L;

        ReplacedFileException(Path path, String expected) {
            super(path, expected, "0 hard links to it");
        }
    }
}
