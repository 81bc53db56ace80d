package io.waybill.cli.command;

import java.io.PrintWriter;

/** Progress report on a terminal about a scan that lasts longer than two seconds. For one thread. */
public final class ScanProgress {

    private static final long QUIET_NS = 2_000_000_000L;
    private static final long STEP_NS = 500_000_000L;
    private static final String TO_LINE_START = "\r\u001b[K";

    private final PrintWriter err;
    private final boolean isShown;
    private long nextNs = System.nanoTime() + QUIET_NS;
    private boolean hasShown;

    public ScanProgress(Surroundings surroundings) {
        err = surroundings.err();
        isShown = surroundings.watcher() == Surroundings.Watcher.PERSON;
    }

    public void records(long read) {
        long nowNs = System.nanoTime();
        if (isShown && nowNs - nextNs >= 0) {
            nextNs = nowNs + STEP_NS;
            err.print(TO_LINE_START + read + " records read");
            err.flush();
            hasShown = true;
        }
    }

    /** Clears the progress line, before results are printed. */
    public void done() {
        if (hasShown) {
            err.print(TO_LINE_START);
            err.flush();
            hasShown = false;
        }
    }
}
