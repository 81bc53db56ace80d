package io.waybill.journal;

import java.io.IOException;

/** A file that its owner writes is gone, was replaced or cut: the text names it and says what became of it. */
public final class LostFileException extends IOException {
    private static final long serialVersionUID = 1L;

    public LostFileException(String text) {
        super(text);
    }
}
