package io.waybill.worker.reference;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * The calling side of a worker, as its references use it.
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

    /** Timeout of calls that give none. */
    Duration defaultTimeout();

    /** Whether this thread may wait for other workers. */
    boolean mayBlock();

    /** @throws IllegalStateException when this thread must not wait, because others wait for it to poll */
    void requireMayBlock();

    /** Returns the timeout, shortened to what the handler that this thread is inside has left; 0 for none. */
    long boundedHere(long timeoutNs);
}
