package io.waybill.cli.npy;

import java.io.IOException;

/**
 * Signals that a file contains no array, or that an array can't be stored in such a file. The message states what was
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
