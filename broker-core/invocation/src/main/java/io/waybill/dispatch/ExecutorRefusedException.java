package io.waybill.dispatch;

import java.util.concurrent.RejectedExecutionException;

/** Thrown when a {@link HandlerExecutor} takes no more tasks. */
public final class ExecutorRefusedException extends RejectedExecutionException {
    private static final long serialVersionUID = 1L;

    /** Reason of the refusal. */
    public enum Reason {
        /** The limit of running and waiting tasks is reached; there may be room later. */
        FULL,
        /** The executor was closed: the provider was removed. */
        CLOSED
    }

    private final Reason reason;

    ExecutorRefusedException(Reason reason, String text) {
        super(text);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
