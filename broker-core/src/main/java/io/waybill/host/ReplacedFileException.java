package io.waybill.host;

import java.nio.file.Path;

/** A file lost its last name between its opening and the look at it: it was replaced by another one, or removed. */
final class ReplacedFileException extends UnsafeFileException {

    private static final long serialVersionUID = 1L;

    ReplacedFileException(Path path, String expected) {
        super(path, expected, "0 hard links to it");
    }
}
