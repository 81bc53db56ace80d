package io.waybill.api.intercept;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Stands around the outgoing calls of a worker: may wrap a request in another type, add tensors and references, see and unwrap the
 * response, repeat and fail the call. A service with {@link InterceptsMessage}, or given to a worker by its program.
 *
 * <p><b>Calls.</b> Blocking calls, futures and calls with a listener, by a program, a handler, a {@code Broker} or a remote reference, alike.
 * Calls that an interceptor makes inside one of these methods are not intercepted.
 *
 * <p><b>Order.</b> The interceptor with the highest service ranking sees the request first and the response last; among equals the oldest.
 * Which interceptors are called is decided by the message of the program, not by what it is wrapped in. What is on record is the wrapped
 * message.
 *
 * <p><b>Pairing.</b> For every call of {@link #onRequest} that returned normally, exactly one of {@link #onResponse} and {@link #onFailure}
 * is called, once, by the same version of the interceptor: one that is replaced keeps the calls that it began, and its bundle waits for them
 * up to the drain limit. Then it is called no more: a call that it had wrapped fails with {@link ErrorCode#HANDLER_GONE} when its
 * response arrives, and another one passes it by. While its bundle is updated, a call that it concerns waits for the new version, or fails
 * with {@link ErrorCode#BACK_PRESSURE} on a thread that may not wait.
 *
 * <p><b>Threads.</b> {@link #onRequest} is called on the thread that calls, the others on the thread that completes the call. All
 * concurrently for different calls. None may block.
 *
 * <p><b>Errors.</b> An exception of {@link #onRequest} or {@link #onResponse} fails the call: a {@link RejectedMessageException} with its code
 * and text, any other with {@link ErrorCode#HANDLER_FAILED}, the name of the interceptor's provider, and an entry in the log and in its count
 * of failures. One that does not return holds the thread that called it: in {@link #onRequest} the program's, in {@link #onResponse} until
 * the call's deadline ends the call.
 *
 * <p><b>Cost.</b> An interceptor that attaches and wraps nothing allocates nothing. A call costs least while {@link #isInterceptingCalls} says that no interceptor
 * of it takes part.
 */
@ConsumerType
public interface CallInterceptor {

    /**
     * Returns whether this interceptor takes part in calls now. Asked for each call that it concerns, on the thread that calls, before {@link #onRequest}, which
     * is still called when another interceptor of the call takes part. To be quick, as the check of a flag is. The default returns true, which
     * an exception counts as, too.
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
     * Called when an attempt of a call failed whose request this interceptor {@linkplain OutgoingCall#keep kept}, and may repeat it. If no
     * interceptor does, the failure is that of the call. Of several that kept the request, the one that saw it last is asked first.
     * Not called when the deadline has passed, the worker is closing, its journal failed, or an interceptor failed the call. The default
     * does nothing.
     *
     * <p>An exception counts as a failure of the interceptor, which does not repeat the call. A method that does not return holds the
     * thread that called it until the call's deadline ends the call.
     */
    default void onAttemptFailed(FailedAttempt attempt) {}

    /**
     * Called when the call failed: with an error response, a timeout, the end of its receiver, or because it could not be sent, or
     * another interceptor failed it. Its caller is notified first, so this method can't change the failure. The default does nothing.
     */
    default void onFailure(InterceptedCall call, CallException failure) {}
}
