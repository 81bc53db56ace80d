package io.waybill.host.failure;

import java.io.IOException;

/**
 * Steps of a close: each is attempted, also after failures of earlier ones. The first failure is thrown at the end,
 * with the others as suppressed.
 *
 * <p><b>Threads.</b> Belongs to the thread that closes. <b>Errors.</b> An {@link Error} stops no step either: a host
 * without threads or memory must not keep what can still be released.
 */
public final class CloseSteps {

    private Throwable first; // null while none failed

    /** Step of a close. */
    @FunctionalInterface
    public interface Step {
        void run() throws Exception;
    }

    /** Runs a step and keeps its exception. */
    public CloseSteps attempt(Step step) {
        try {
            step.run();
        } catch (Throwable e) { // after any exception, the next step is attempted
            if (first == null) {
                first = e;
            } else if (first != e) {
                first.addSuppressed(e);
            }
        }
        return this;
    }

    /** Throws the first failure, if a step failed. */
    public void finish() throws IOException {
        if (first instanceof IOException e) {
            throw e;
        }
        finishUnchecked();
    }

    /** Throws the first failure unchecked, if a step failed. */
    public void finishUnchecked() {
        if (first instanceof RuntimeException e) {
            throw e;
        }
        if (first instanceof Error e) {
            throw e;
        }
        if (first != null) {
            throw new IllegalStateException(first.getMessage(), first);
        }
    }

    /** Adds the failures to the error that is the reason for this close. */
    public void suppressIn(Throwable reason) {
        if (first != null && first != reason) {
            reason.addSuppressed(first);
        }
    }
}
