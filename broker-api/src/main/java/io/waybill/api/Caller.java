package io.waybill.api;

import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Sends requests to other workers of the home, and to its own worker. Every call has exactly one outcome: a response,
 * or a {@link CallException} for an error response or a timeout. Thread-safe.
 *
 * <p>A call fails at once, and sends nothing, when the worker is unknown or lost, when the journal or the peer has no
 * room and the worker is configured to reject calls in this case, or when this worker is closed. Then {@code call}
 * throws the {@link CallException}, and {@code callAsync} returns a future that has failed with it.
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
     * {@link CallException}. The future reports every failure of the call, also if nothing was sent; the method itself
     * throws only on wrong use, such as a null request or an outbox whose handler has returned. Run long dependent
     * stages on an executor. Cancelling the future drops the response and does not stop the handler.
     */
    CompletableFuture<Response> callAsync(Request request);

    /**
     * Sends a request and passes its outcome to a listener. Allocates nothing unless the listener does.
     *
     * @return the request's id
     * @throws CallException when nothing was sent; the listener is not called then
     */
    long call(Request request, ResponseListener listener);
}
