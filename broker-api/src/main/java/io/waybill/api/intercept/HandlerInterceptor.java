package io.waybill.api.intercept;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.Outbox;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Stands around the handlers of a worker: may refuse a request, respond to it in place of the handler, and see what became of it. A service
 * with {@link InterceptsMessage}, or given to a worker by its program. Not called for requests that the worker serves itself.
 *
 * <p><b>Order.</b> The interceptor with the highest service ranking is nearest to the handler: called last before it, and first after it;
 * among equals the oldest.
 *
 * <p><b>Pairing.</b> For every call of {@link #before} that returned normally, {@link #after} is called once, by the same version
 * of the interceptor, unless its bundle left after the drain limit or the request was abandoned because its handler did not return.
 *
 * <p><b>Threads.</b> {@link #before} on the handler's thread: for a non-blocking handler that is the worker's poller, where it may not block.
 * {@link #after} on the thread that responds: the handler's, or that of a deferred response.
 *
 * <p><b>Errors.</b> An exception of {@link #before} fails the request and the handler is not called: a {@link RejectedMessageException} with its
 * code and text, any other with {@link ErrorCode#HANDLER_FAILED}. One of {@link #after} fails a request that would have succeeded, in the
 * same way. Both are logged with the message id and counted for the interceptor. A method that does not return is a handler that does not
 * return: the watchdog completes the request.
 *
 * <p><b>Replay.</b> An interceptor of the replayed bundles is called in a replay as well, and must behave as a handler must: the same messages
 * give the same results. It reads the clock and random numbers from the outbox, which are recorded with the response.
 */
@ConsumerType
public interface HandlerInterceptor {

    /**
     * Returns whether this interceptor takes part in requests now. Asked for each request that it concerns, on the handler's thread, before {@link #before}, which
     * is still called when another interceptor of the request takes part. To be quick, as the check of a flag is, and the same in a replay. The default returns true, which
     * an exception counts as, too.
     */
    default boolean isInterceptingHandlers() {
        return true;
    }

    /**
     * Called before the handler. If it responds through the outbox, or defers the response, the handler and the interceptors
     * nearer to it are not called.
     *
     * @throws RejectedMessageException to reject the message
     */
    void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException;

    /**
     * Called when the handler responded or failed, before the response is written. The default does nothing.
     *
     * @throws RejectedMessageException to respond with an error instead; ignored when the outcome is an error already
     */
    default void after(HandledMessage outcome) throws RejectedMessageException {}
}
