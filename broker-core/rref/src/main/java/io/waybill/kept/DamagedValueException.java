package io.waybill.kept;

import java.io.IOException;
import java.nio.file.Path;

/** Thrown when a kept value's file is damaged. The message names the file, what was expected and what was found. */
public final class DamagedValueException extends IOException {

    private static final long serialVersionUID = 1L;

    DamagedValueException(Path file, String what) {
        super(file + " is damaged: " + what);
    }
}
