package io.waybill.cli.supervise;

import java.util.concurrent.TimeUnit;

/** Ends child processes. */
public final class ChildEnd {

    /** Max time that a process may take to end. */
    public static final long LIMIT_S = 20;

    private ChildEnd() {}

    /** Waits until it has ended, up to the limit. Returns whether it has; false also when this thread is interrupted. */
    public static boolean await(Process process) {
        try {
            return process.waitFor(LIMIT_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Waits until a process that was stopped has ended, and kills it after a limit. */
    public static void awaitOrKill(Process process) {
        if (!await(process)) {
            process.destroyForcibly();
            await(process);
        }
    }
}
