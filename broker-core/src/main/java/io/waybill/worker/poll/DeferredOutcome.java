package io.waybill.worker.poll;

/**
 * The state of a response that a handler deferred.
 *
 * <p><b>Threads.</b> Any.
 */
public interface DeferredOutcome {

    /** Whether the handler has returned and the response has not been given. */
    boolean isAwaited();

    /** Whether the response was given, before or after the deadline of its request. */
    boolean isGiven();
}
