package io.waybill.cli.argument;

/** Signals an invalid argument of a call; the message states the argument, the position, and what was expected. */
public final class ArgumentException extends Exception {
    private static final long serialVersionUID = 1L;

    public ArgumentException(String message) {
        super(message);
    }

    public ArgumentException(String message, Throwable cause) {
        super(message, cause);
    }
}
