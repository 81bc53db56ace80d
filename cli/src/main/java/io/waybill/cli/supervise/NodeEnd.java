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

    NodeEnd {
        lastLines = List.copyOf(lastLines);
    }
}
