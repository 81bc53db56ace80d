package io.waybill.autograd.graph;

/**
 * Names a message with tensors that this worker received in a context. Its gradients go back to the sender, to the send function of the same id.
 *
 * @param messageId the autograd message id, which the sender gave to the message
 * @param worker the sender
 */
public record RecvId(long messageId, int worker) {}
