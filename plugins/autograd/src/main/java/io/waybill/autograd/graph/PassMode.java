package io.waybill.autograd.graph;

/** Selection of the send functions in a backward pass, for which it waits. */
public enum PassMode {

    /**
     * All send functions of the context. No message is needed to find them, but the pass completes only when the
     * gradients of each have arrived: a result that is not used in the loss makes it wait indefinitely. Undefined
     * gradients are sent as zeros.
     */
    FAST,

    /**
     * Send functions that were discovered before the pass, by following the graph from the roots across workers.
     * Undefined gradients stay undefined.
     */
    SMART
}
