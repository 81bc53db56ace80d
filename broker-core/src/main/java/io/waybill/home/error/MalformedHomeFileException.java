package io.waybill.home.error;

/** A file of the home does not read as what it must be: cut short, damaged, or of another format. */
public final class MalformedHomeFileException extends HomeException {
    private static final long serialVersionUID = 1L;

    public MalformedHomeFileException(String message) {
        super(message);
    }

    public MalformedHomeFileException(String message, Throwable cause) {
        super(message, cause);
    }
}
