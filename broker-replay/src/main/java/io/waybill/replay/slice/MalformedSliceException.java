package io.waybill.replay.slice;

import java.io.IOException;
import java.util.Locale;

/**
 * Signals that a file is not a slice, or is damaged. The message states what was expected, what was found, and where.
 */
public final class MalformedSliceException extends IOException {

    private static final long serialVersionUID = 1L;

    MalformedSliceException(String message) {
        super(message);
    }

    MalformedSliceException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Throws the exception unless a condition holds. */
    static void require(boolean holds, String otherwise, Object... arguments) throws MalformedSliceException {
        if (!holds) {
            throw new MalformedSliceException(String.format(Locale.ROOT, otherwise, arguments));
        }
    }

    /** Returns a copy with the location as prefix. */
    MalformedSliceException at(String location) {
        return new MalformedSliceException(location + ": " + getMessage(), getCause());
    }
}
