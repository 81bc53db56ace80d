package io.waybill.journal;

import java.io.IOException;

/**
 * Thrown when a file that its owner writes was removed, replaced or truncated; the text names the file and the cause.
 */
public final class LostFileException extends IOException {
    private static final long serialVersionUID = 1L;

    public LostFileException(String text) {
        super(text);
    }
}
