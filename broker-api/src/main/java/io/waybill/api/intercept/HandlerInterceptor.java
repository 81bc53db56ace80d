package io.waybill.api.intercept;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.Outbox;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Interceptor of a worker's handlers: may refuse a request, respond to it in place of the handler, and read its
 * outcome. Published as a service with {@link InterceptsMessage}, or registered with a worker by its program. Not
 * called for requests that the worker serves itself.
 *
 * <p><b>Order.</b> The interceptor with the highest service ranking is nearest to the handler: called last before it,
 * and first after it. Among equal rankings the first is nearest, by the names of bundle and component;
 * those of a program have none, and the oldest is nearest.
 *
 * <p><b>Pairing.</b> For every call of {@link #before} that returned normally, {@link #after} is called once, by the
 * same version of the interceptor, unless its bundle was removed at the drain limit, or the request was abandoned
 * because its handler did not return.
 *
 * <p><b>Threads.</b> {@link #before} runs on the handler's thread; for a non-blocking handler this is the worker's
 * poller, where it may not block. {@link #after} runs on the thread that responds: the handler's, or the one that
 * completes a deferred response.
 *
 * <p><b>Errors.</b> An exception from {@link #before} fails the request, and the handler is not called: a
 * {@link RejectedMessageException} with its code and text, any other with {@link ErrorCode#HANDLER_FAILED}. An
 * exception from {@link #after} fails a successful request in the same way. Both are logged with the message id and
 * counted for the interceptor. A method that does not return counts as a handler that does not return: the watchdog
 * completes the request.
 *
 * <p><b>Replay.</b> An interceptor of the replayed bundles is called in a replay as well, and follows the rule for
 * handlers: the same messages give the same results. Its clock readings and random numbers come from the outbox and are
 * recorded with the response.
 */
@ConsumerType
public interface HandlerInterceptor {

    /**
     * Returns whether this interceptor currently takes part in requests. Called for each matching request, on the
     * handler's thread, before {@link #before}, which is still called if another interceptor of the request takes part.
     * Must be as fast as the check of a flag, and give the same result in a replay. Returns true by default; an
     * exception counts as true.
     */
    default boolean isInterceptingHandlers() {
        return true;
    }

    /**
     * Called before the handler. If it responds through the outbox, or defers the response, the handler and the
     * interceptors nearer to it are not called.
     *
     * @throws RejectedMessageException to reject the message
     */
    void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException;

    /**
     * Called when the handler responded or failed, before the response is written. The default does nothing.
     *
     * @throws RejectedMessageException to respond with an error instead; ignored if the outcome is already an error
     */
    default void after(HandledMessage outcome) throws RejectedMessageException {}
}
