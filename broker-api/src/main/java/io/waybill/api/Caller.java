package io.waybill.api;

import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Calls other workers of the home, and itself. Every call has exactly one outcome: a response, an error response or a timeout, the last
 * two as a {@link CallException}. Thread-safe.
 *
 * <p>All methods throw a {@link CallException} at once, with nothing sent, when the worker is unknown or gone, when the journal or the
 * peer has no room and the worker is set to refuse, or when this worker is closed.
 */
@ProviderType
public interface Caller {

    /**
     * Calls and waits.
     *
     * @return the response, the caller's to close
     * @throws CallException when the call fails
     * @throws IllegalStateException when called on the worker's poller, that is by a non-blocking handler or a {@link ResponseListener}
     */
    Response call(Request request);

    /**
     * Calls, and completes the future with the response or a {@link CallException} on the worker's poller: stages that take long belong
     * on an executor. Cancelling the future drops the response and does not stop the handler.
     */
    CompletableFuture<Response> callAsync(Request request);

    /**
     * Calls, and tells the outcome to a listener. Allocates nothing when the listener doesn't.
     *
     * @return the request's id
     */
    long call(Request request, ResponseListener listener);
}
