package io.waybill.api.tool;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * A command of a bundle: {@code waybill NAME ... --node NODE} runs it in the node. A bundle offers it by publishing this service.
 *
 * <p><b>Threads.</b> Each run has a thread of its own; a command may run several times at once.
 */
@ConsumerType
public interface ToolCommand {

    /** Returns the name, the options and the help. Called once, when the command is added. */
    ToolDescription description();

    /**
     * Runs the command. Its output is shown as it is written; the command succeeds when this returns.
     *
     * <p><b>Errors.</b> A {@link ToolFailedException} is the command's own error: its text and exit code reach the user. Any other exception
     * or error ends the run with exit code 1, and is counted for the bundle.
     *
     * <p><b>End.</b> The thread is interrupted when the user leaves, the limit of {@link ToolDescription#limit()} passes, or the bundle stops.
     * The run has failed by then, and what it still writes is dropped.
     *
     * @param run valid until this returns
     */
    void run(ToolRun run) throws Exception;
}
