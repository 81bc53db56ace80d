package io.waybill.autograd;

/** Selection of the calls that a backward pass waits for. */
public enum BackwardMode {

    /**
     * Only calls whose results lead to the roots. They are found before the computation, with one round trip per hop,
     * so unused results neither delay the pass nor have a cost.
     */
    SMART,

    /**
     * All calls of the context, like PyTorch, without that round trip. The pass never completes if a result does not
     * lead to the roots.
     */
    FAST
}
