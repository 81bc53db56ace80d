package io.waybill.journal;

/** The journal met a fault that leaves it in doubt. It takes no more records, for good. */
public final class JournalFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public JournalFailedException(String text, Throwable cause) {
        super(text, cause);
    }
}
