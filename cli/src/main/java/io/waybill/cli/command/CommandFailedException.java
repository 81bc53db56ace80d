package io.waybill.cli.command;

/** Signals that a command failed; the message is the line that the user sees, and states what to do. */
public final class CommandFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    private final int exitCode;
    private final String detail;

    public CommandFailedException(String message) {
        this(ErrorLines.FAILED, message);
    }

    /** Creates a failure with an unusual exit code. */
    public CommandFailedException(int exitCode, String message) {
        super(message);
        this.exitCode = exitCode;
        this.detail = "";
    }

    /**
     * Creates a failure with further lines.
     *
     * @param detail lines that the user sees below the message, such as a traceback
     */
    public CommandFailedException(String message, String detail) {
        super(message);
        this.exitCode = ErrorLines.FAILED;
        this.detail = detail;
    }

    public CommandFailedException(String message, Throwable cause) {
        super(message, cause);
        this.exitCode = ErrorLines.FAILED;
        this.detail = "";
    }

    String detail() {
        return detail;
    }

    int exitCode() {
        return exitCode;
    }
}
