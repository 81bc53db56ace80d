package io.waybill.replay.slice;

import java.io.IOException;
import java.util.Locale;

/**
 * Thrown for a file that is not a slice, or is damaged. The message says what was expected, what was found, and where.
 */
public final class MalformedSliceException extends IOException {

    private static final long serialVersionUID = 1L;

    MalformedSliceException(String message) {
        super(message);
    }

    MalformedSliceException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Throws one unless something holds. */
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
