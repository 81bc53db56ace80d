package io.waybill.cli.command;

/**
 * Signals wrong options or arguments that are detected only after parsing. The message is the single line that the user
 * sees.
 */
public final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    public UsageException(String message) {
        super(message);
    }

    public UsageException(String message, Throwable cause) {
        super(message, cause);
    }
}
