package io.waybill.home.error;

/** Thrown when a file of the home can't be parsed: it is cut short, damaged, or of another format. */
public final class MalformedHomeFileException extends HomeException {
    private static final long serialVersionUID = 1L;

    public MalformedHomeFileException(String message) {
        super(message);
    }

    public MalformedHomeFileException(String message, Throwable cause) {
        super(message, cause);
    }
}
