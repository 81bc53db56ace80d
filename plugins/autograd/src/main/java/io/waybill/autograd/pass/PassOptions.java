package io.waybill.autograd.pass;

import io.waybill.autograd.graph.GraphUse;
import io.waybill.autograd.graph.PassMode;

/**
 * How a pass is run; the same in all workers.
 *
 * @param mode which send functions take part
 * @param use whether the graph stays for another pass
 */
public record PassOptions(PassMode mode, GraphUse use) {

    /** Returns the options that a message carries. */
    public static PassOptions of(boolean isFast, boolean keepsGraph) {
        return new PassOptions(
                isFast ? PassMode.FAST : PassMode.SMART, keepsGraph ? GraphUse.RETAIN : GraphUse.RELEASE);
    }

    boolean isFast() {
        return mode == PassMode.FAST;
    }

    boolean keepsGraph() {
        return use == GraphUse.RETAIN;
    }
}
