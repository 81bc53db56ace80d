package io.waybill.worker.reference;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

/**
 * Calling side of a worker, as used by its references.
 *
 * <p><b>Threads.</b> Any.
 */
public interface ReferenceCalls {

    /** Calls on behalf of no handler; returns the id of the request. */
    long call(Request request, ResponseListener listener);

    /** Calls and waits on behalf of the handler that this thread is inside, if any. */
    Response callFromHere(Request request);

    /** Calls on behalf of the handler that this thread is inside, if any. */
    CompletableFuture<Response> callAsyncFromHere(Request request);

    /** Returns the timeout of calls that specify none. */
    Duration defaultTimeout();

    /** Returns whether this thread may wait for other workers. */
    boolean mayBlock();

    /**
     * Throws unless this thread may wait for other workers.
     *
     * @throws IllegalStateException when this thread must not wait, because other threads wait for it to poll
     */
    void requireMayBlock();

    /** Waits until a future is done, or {@code maxNs} have passed; does not poll. Returns whether it is done. */
    boolean await(Future<?> future, long maxNs) throws InterruptedException;

    /** Returns the timeout, shortened to the remaining time of the handler that this thread is inside; 0 for none. */
    long boundedHere(long timeoutNs);
}
