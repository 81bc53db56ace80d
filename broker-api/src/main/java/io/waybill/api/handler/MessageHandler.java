package io.waybill.api.handler;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Handles requests of the types and operations named in its {@link HandlesMessage}.
 *
 * <p><b>Threads.</b> Called concurrently by the threads of its bundle's executor, and may block there, including on
 * nested calls. A handler that is declared {@link NonBlocking} is called on the worker's poller instead, which saves a
 * thread switch: it must return within microseconds to a few milliseconds and must not wait for other workers.
 *
 * <p><b>Lifetime.</b> The message and the outbox are invalid after this method returns.
 *
 * <p><b>Context class loader.</b> Set to the handler's own for the call.
 *
 * <p><b>Replay.</b> The same messages in the same order must produce the same responses. Take the time from
 * {@link Outbox#clock} and random numbers from {@link Outbox#random}, which are recorded; use no other external input.
 */
@ConsumerType
@FunctionalInterface
public interface MessageHandler {

    /**
     * Handles one request. The broker journals the content of the outbox when this method returns, and drops it when
     * this method throws.
     *
     * @throws RejectedMessageException to reject the message: the caller receives its code and text
     * @throws Exception to fail the call with {@link ErrorCode#HANDLER_FAILED}: the caller receives the exception's
     *     text, and the worker logs it with its stack
     */
    void handle(Message message, Outbox outbox) throws Exception;
}
