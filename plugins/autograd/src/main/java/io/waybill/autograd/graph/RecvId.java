package io.waybill.autograd.graph;

/**
 * Identity of a message with tensors that this worker received in a context. Its gradients return to the sender's send
 * function of the same id.
 *
 * @param messageId the autograd message id, which the sender gave to the message
 * @param worker the sender
 */
public record RecvId(long messageId, int worker) {}
