package io.waybill.api;

import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Sends requests to other workers of the home, and to its own worker. Every call has exactly one outcome: a response,
 * or a {@link CallException} for an error response or a timeout. Thread-safe.
 *
 * <p>All methods throw a {@link CallException} at once, and send nothing, when the worker is unknown or lost, when the
 * journal or the peer has no room and the worker is configured to reject calls in this case, or when this worker is
 * closed.
 */
@ProviderType
public interface Caller {

    /**
     * Sends a request and waits for the response.
     *
     * @return the response; the caller closes it
     * @throws CallException when the call fails
     * @throws IllegalStateException when called on the worker's poller, that is by a non-blocking handler or a
     * {@link ResponseListener}
     */
    Response call(Request request);

    /**
     * Sends a request and returns a future, which the worker's poller completes with the response or a
     * {@link CallException}. Run long dependent stages on an executor. Cancelling the future drops the response and
     * does not stop the handler.
     */
    CompletableFuture<Response> callAsync(Request request);

    /**
     * Sends a request and passes its outcome to a listener. Allocates nothing unless the listener does.
     *
     * @return the request's id
     */
    long call(Request request, ResponseListener listener);
}
