package io.waybill.api.tool;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Command of a bundle: {@code waybill NAME ... --node NODE} runs it in the node. The bundle publishes it as a service.
 *
 * <p><b>Threads.</b> Each run has its own thread; a command may run several times at once.
 */
@ConsumerType
public interface ToolCommand {

    /** Returns the name, the options and the help. Called once, when the command is added. */
    ToolDescription description();

    /**
     * Runs the command. Its output is shown as it is written; the command succeeds when this method returns.
     *
     * <p><b>Errors.</b> A {@link ToolFailedException} is the command's own error: its text and exit code reach the
     * user. Any other exception or error ends the run with exit code 1, and is counted for the bundle.
     *
     * <p><b>End.</b> The thread is interrupted when the user disconnects, the limit of {@link ToolDescription#limit()}
     * passes, or the bundle stops. The run has failed by then, and its further output is dropped.
     *
     * @param run valid until this method returns
     */
    void run(ToolRun run) throws Exception;
}
