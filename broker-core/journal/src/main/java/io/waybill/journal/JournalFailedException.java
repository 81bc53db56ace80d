package io.waybill.journal;

/** Thrown when the journal has failed and its content is in doubt. It permanently accepts no more records. */
public final class JournalFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public JournalFailedException(String text, Throwable cause) {
        super(text, cause);
    }
}
