package io.waybill.cli.command;

/** Thrown when a command fails; the message is the one line that the user sees, and says what to do. */
public final class CommandFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    private final int exitCode;

    public CommandFailedException(String message) {
        this(ErrorLines.FAILED, message);
    }

    /** A failure whose exit code is not the usual one. */
    public CommandFailedException(int exitCode, String message) {
        super(message);
        this.exitCode = exitCode;
    }

    public CommandFailedException(String message, Throwable cause) {
        super(message, cause);
        this.exitCode = ErrorLines.FAILED;
    }

    int exitCode() {
        return exitCode;
    }
}
