package io.waybill.api.handler;

import io.waybill.api.Message;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * A {@link NonBlocking} handler that may block for some messages: these run on a thread of its bundle, as for a plain
 * handler. Without {@link NonBlocking} this interface has no effect.
 */
@ConsumerType
public interface SelectivelyBlocking extends MessageHandler {

    /**
     * Returns whether {@link #handle} may block or run long for a message. Called once for each message, before
     * {@link #handle}, on the worker's poller: it must return immediately, and must not keep the message. An exception
     * fails the call, like one from {@link #handle}.
     */
    boolean blocks(Message message);
}
