package io.waybill.cli.supervise;

import java.util.concurrent.TimeUnit;

/** Ends child processes. */
public final class ChildEnd {

    /** Max time for a process to exit. */
    public static final long LIMIT_S = 20;

    private ChildEnd() {}

    /**
     * Waits for the exit of a process, up to the limit, and returns whether it has exited; false also if this thread is
     * interrupted.
     */
    public static boolean await(Process process) {
        try {
            return process.waitFor(LIMIT_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Waits for the exit of a process that was asked to stop, and kills it after a limit. */
    public static void awaitOrKill(Process process) {
        if (!await(process)) {
            process.destroyForcibly();
            await(process);
        }
    }
}
