package io.waybill.cli.conformance.format;

/** A case that says what it must not; the message names the place, what was expected and what was found. */
public final class FormatException extends Exception {
    private static final long serialVersionUID = 1L;

    public FormatException(String message) {
        super(message);
    }

    public FormatException(String message, Throwable cause) {
        super(message, cause);
    }

    /** The same with a place in front. */
    FormatException at(String place) {
        return new FormatException(place + ": " + getMessage(), this);
    }
}
