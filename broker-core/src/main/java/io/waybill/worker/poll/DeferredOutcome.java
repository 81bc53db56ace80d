package io.waybill.worker.poll;

/**
 * State of a deferred response.
 *
 * <p><b>Threads.</b> Any.
 */
public interface DeferredOutcome {

    /** Returns whether the handler has returned and the response has not been given. */
    boolean isAwaited();

    /** Returns whether the response was given, before or after the deadline of its request. */
    boolean isGiven();
}
