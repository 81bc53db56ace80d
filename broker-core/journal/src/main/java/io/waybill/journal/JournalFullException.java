package io.waybill.journal;

/** Thrown when space for a record could not be reserved; nothing was written. Later appends may succeed again. */
public final class JournalFullException extends Exception {
    private static final long serialVersionUID = 1L;

    public JournalFullException(String text, Throwable cause) {
        super(text, cause);
    }
}
