package io.waybill.cli.supervise;

import java.time.Duration;
import java.util.List;

/**
 * End of a node's process. Immutable.
 *
 * @param exitCode exit code as in a shell: 128 plus the number of the signal that terminated the process
 * @param reason meaning of the exit code, with further details
 * @param report the JVM's own report of a crash; empty text if there is none
 * @param ran run time of the process
 * @param lastLines last lines of standard error, oldest first
 */
record NodeEnd(int exitCode, String reason, String report, Duration ran, List<String> lastLines) {

    /** Beginnings of a JVM's texts about invalid options, which it never accepts; a lack of memory is temporary. */
    private static final List<String> REFUSALS = List.of("Unrecognized ", "Invalid ");

    NodeEnd {
        lastLines = List.copyOf(lastLines);
    }

    /**
     * Returns whether a restart would end the same way, because the command line, the settings or the JVM's options are
     * invalid.
     */
    boolean wasStartedWrongly() {
        return exitCode == ExitCodes.USAGE
                || exitCode == ExitCodes.FAILED
                        && lastLines.contains("Error: Could not create the Java Virtual Machine.")
                        && lastLines.stream().anyMatch(line -> REFUSALS.stream().anyMatch(line::startsWith));
    }
}
