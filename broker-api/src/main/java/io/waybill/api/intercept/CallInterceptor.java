package io.waybill.api.intercept;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Interceptor of a worker's outgoing calls: may wrap a request in another type, add tensors and references, read and
 * unwrap the response, repeat the call or fail it. Published as a service with {@link InterceptsMessage}, or registered
 * with a worker by its program.
 *
 * <p><b>Calls.</b> All outgoing calls: blocking, with a future or with a listener, from a program, a handler, a
 * {@code Broker} or a remote reference. Calls that an interceptor makes inside these methods are not intercepted.
 *
 * <p><b>Order.</b> The interceptor with the highest service ranking sees the request first and the response last; among
 * equals the first by the names of bundle and component; those of a program have none, and the oldest sees it first.
 * The program's message, not the wrapped one, determines which interceptors are called. The journal contains the
 * wrapped message.
 *
 * <p><b>Pairing.</b> For every call of {@link #onRequest} that returned normally, exactly one of {@link #onResponse}
 * and {@link #onFailure} is called, once, by the same version of the interceptor: a replaced interceptor keeps the
 * calls that it began, and its bundle waits for them up to the drain limit. After that it is not called again: a call
 * that it had wrapped fails with {@link ErrorCode#HANDLER_GONE} when its response arrives, and any other call bypasses
 * it. While its bundle is updated, a matching call waits for the new version, or fails with
 * {@link ErrorCode#BACK_PRESSURE} on a thread that may not wait.
 *
 * <p><b>Threads.</b> {@link #onRequest} is called on the calling thread, the other methods on the thread that completes
 * the call; all concurrently for different calls. No method may block.
 *
 * <p><b>Errors.</b> An exception of {@link #onRequest} or {@link #onResponse} fails the call: a
 * {@link RejectedMessageException} with its code and text, any other with {@link ErrorCode#HANDLER_FAILED}, the name of
 * the interceptor's provider, and an entry in the log and in its count of failures. A method that does not return
 * blocks its thread: {@link #onRequest} the program's; {@link #onResponse} until the call times out.
 *
 * <p><b>Cost.</b> An interceptor that neither attaches nor wraps causes no allocation. A call is cheapest while
 * {@link #isInterceptingCalls} returns false for all its interceptors.
 */
@ConsumerType
public interface CallInterceptor {

    /**
     * Returns whether this interceptor currently takes part in calls. Called for each matching call, on the calling
     * thread, before {@link #onRequest}, which is still called if another interceptor of the call takes part. Must be
     * as fast as the check of a flag. Returns true by default; an exception counts as true.
     */
    default boolean isInterceptingCalls() {
        return true;
    }

    /**
     * Called before the request is written.
     *
     * @throws RejectedMessageException to fail the call; nothing is sent
     */
    void onRequest(OutgoingCall call) throws RejectedMessageException;

    /**
     * Called with the response, before the program gets it. The default does nothing.
     *
     * @throws RejectedMessageException to fail the call
     */
    default void onResponse(IncomingResponse response) throws RejectedMessageException {}

    /**
     * Called when an attempt of a call failed and this interceptor {@linkplain OutgoingCall#keep kept} its request; may
     * repeat the attempt. If no interceptor does, the call fails with this failure. If several interceptors kept the
     * request, the last one to receive it is called first. Not called if the deadline has passed, the worker is
     * closing, its journal failed, or an interceptor failed the call. The default does nothing.
     *
     * <p>An exception counts as a failure of the interceptor, which does not repeat the call. A method that does not
     * return blocks its thread until the call times out.
     */
    default void onAttemptFailed(FailedAttempt attempt) {}

    /**
     * Called when the call failed: with an error response, a timeout, the loss of its receiver, or because it could not
     * be sent or another interceptor failed it. Its caller is notified first, so this method can't change the failure.
     * The default does nothing.
     */
    default void onFailure(InterceptedCall call, CallException failure) {}
}
