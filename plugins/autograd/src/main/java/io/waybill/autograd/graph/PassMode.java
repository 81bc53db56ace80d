package io.waybill.autograd.graph;

/** Which send functions take part in a backward pass: those for which it waits. */
public enum PassMode {

    /**
     * All that the context has. No message is needed to find them, but the pass ends only when the gradients of each have arrived: a result that is not used
     * in the loss makes it wait indefinitely. Undefined gradients are sent as zeros.
     */
    FAST,

    /**
     * Those that were discovered before the pass, by following the graph from the roots across workers. Undefined gradients stay undefined.
     */
    SMART
}
