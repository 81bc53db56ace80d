package io.waybill.api.tool;

/** Failure of a command, with the line that the user sees. The text should state what to do. */
public class ToolFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Exit code of a command that failed. */
    public static final int FAILED = 1;
    /** Exit code of a command with wrong options or arguments. */
    public static final int USAGE = 2;

    private static final int MAX_EXIT_CODE = 125;

    private final int exitCode;

    /** Creates a failure with exit code {@value #FAILED}. */
    public ToolFailedException(String text) {
        this(FAILED, text);
    }

    /**
     * Creates a failure.
     *
     * @param exitCode 1 to 125
     */
    public ToolFailedException(int exitCode, String text) {
        super(text);
        if (exitCode < 1 || exitCode > MAX_EXIT_CODE) {
            throw new IllegalArgumentException("an exit code is 1 to " + MAX_EXIT_CODE + ", not " + exitCode);
        }
        this.exitCode = exitCode;
    }

    /** Returns the exit code of {@code waybill}. */
    public final int exitCode() {
        return exitCode;
    }
}
