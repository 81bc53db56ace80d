package io.waybill.cli.process;

import java.util.concurrent.TimeUnit;

/** How a process that this one started is brought to its end. */
public final class ChildEnd {

    /** How long a process may take to end once it was told to. */
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

    /** Waits until a process that was told to end has done so, and kills it when it takes too long. */
    public static void awaitOrKill(Process process) {
        if (!await(process)) {
            process.destroyForcibly();
            await(process);
        }
    }
}
