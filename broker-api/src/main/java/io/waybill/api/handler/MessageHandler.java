package io.waybill.api.handler;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Answers requests of the types and operations named in its {@link HandlesMessage}.
 *
 * <p><b>Threads.</b> Called by several threads of its bundle's executor at once, and may block there, also on nested calls. A handler
 * that is declared {@link NonBlocking} is called on the worker's poller instead, which saves a change of threads: it
 * must come back within microseconds to few milliseconds and must not wait for other workers.
 * <p><b>Lifetime.</b> The message and the outbox are dead when this method returns.
 * <p><b>Context class loader.</b> Set to the handler's own for the call.
 * <p><b>Replay.</b> The same messages in the same order must fill the outbox alike. Take the time from {@link Outbox#clock} and random
 * numbers from {@link Outbox#random}, which are on record; take no other input from elsewhere.
 */
@ConsumerType
@FunctionalInterface
public interface MessageHandler {

    /**
     * Handles one request. What it put in the outbox is journalled when it returns, and dropped when it throws.
     *
     * @throws RejectedMessageException to refuse the message: the caller gets its code and text. Any other exception counts as
     *     {@link ErrorCode#HANDLER_FAILED}
     */
    void handle(Message message, Outbox outbox) throws RejectedMessageException;
}
