package io.waybill.autograd;

/** Which calls a backward pass waits for. */
public enum BackwardMode {

    /**
     * Those whose results lead to the roots. They are found before anything is computed, by one round trip per hop, so unused results neither delay
     * the pass nor cost anything.
     */
    SMART,

    /**
     * All calls of the context, as PyTorch does: without that round trip. The pass does not end if a result does not lead to the roots.
     */
    FAST
}
