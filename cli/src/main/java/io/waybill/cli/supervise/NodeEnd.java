package io.waybill.cli.supervise;

import java.time.Duration;
import java.util.List;

/**
 * How a node's process ended. Immutable.
 *
 * @param exitCode as the shell would give it: 128 and the number of a signal for a process that a signal ended
 * @param reason what the exit code means, with what else is known
 * @param report the JVM's own report of a crash; empty text when it named none
 * @param ran how long the process ran
 * @param lastLines what it said last on standard error, oldest first
 */
record NodeEnd(int exitCode, String reason, String report, Duration ran, List<String> lastLines) {

    /** What a JVM says of options that it will never take. That it lacks memory may pass. */
    private static final List<String> REFUSALS = List.of("Unrecognized ", "Invalid ");

    NodeEnd {
        lastLines = List.copyOf(lastLines);
    }

    /** Whether a restart would end the same way: the command line, the settings or the JVM's options are invalid. */
    boolean wasStartedWrongly() {
        return exitCode == ExitCodes.USAGE
                || exitCode == ExitCodes.FAILED
                        && lastLines.contains("Error: Could not create the Java Virtual Machine.")
                        && lastLines.stream().anyMatch(line -> REFUSALS.stream().anyMatch(line::startsWith));
    }
}
