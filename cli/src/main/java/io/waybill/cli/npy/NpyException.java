package io.waybill.cli.npy;

import java.io.IOException;

/**
 * Thrown for a file that contains no array, or an array that such a file can't contain. The message says what was
 * expected, what was found and where.
 */
public final class NpyException extends IOException {
    private static final long serialVersionUID = 1L;

    public NpyException(String message) {
        super(message);
    }

    public NpyException(String message, Throwable cause) {
        super(message, cause);
    }
}
