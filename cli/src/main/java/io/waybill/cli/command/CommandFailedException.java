package io.waybill.cli.command;

/** Thrown when a command fails; the message is the one line that the user sees, and says what to do. */
public final class CommandFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    public CommandFailedException(String message) {
        super(message);
    }

    public CommandFailedException(String message, Throwable cause) {
        super(message, cause);
    }
}
