package io.waybill.cli.command;

/** A command that was written wrongly, as found out only after its options were read. The message is the one line that the user sees. */
public final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    public UsageException(String message) {
        super(message);
    }

    public UsageException(String message, Throwable cause) {
        super(message, cause);
    }
}
