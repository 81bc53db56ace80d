package io.waybill.api.handler;

import io.waybill.api.Message;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * A {@link NonBlocking} handler that blocks for some messages, and says for which: those run on a thread of its bundle, as those of a plain handler. Without
 * {@link NonBlocking} it has no effect.
 */
@ConsumerType
public interface SelectivelyBlocking extends MessageHandler {

    /**
     * Returns whether {@link #handle} may block for a message, or take long. Called once for each message, before {@link #handle}, on the worker's poller: it must return
     * at once, and must not keep the message. What it throws fails the call, as what {@link #handle} throws.
     */
    boolean blocks(Message message);
}
