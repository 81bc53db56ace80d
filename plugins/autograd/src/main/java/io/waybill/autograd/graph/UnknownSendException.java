package io.waybill.autograd.graph;

/** Signals gradients for a message that was not sent in this context. */
public final class UnknownSendException extends BackwardException {

    private static final long serialVersionUID = 1;

    UnknownSendException(long messageId) {
        super("Could not find send function for autograd message id: " + messageId);
    }
}
