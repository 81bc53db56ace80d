package io.waybill.cli.argument;

/** An argument of a call that can't be read; the message says which, where and what was expected. */
public final class ArgumentException extends Exception {
    private static final long serialVersionUID = 1L;

    public ArgumentException(String message) {
        super(message);
    }

    public ArgumentException(String message, Throwable cause) {
        super(message, cause);
    }
}
