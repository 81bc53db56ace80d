package io.waybill.autograd.pass;

import io.waybill.autograd.graph.GraphUse;
import io.waybill.autograd.graph.PassMode;

/**
 * Options of a pass; the same in all workers.
 *
 * @param mode selection of send functions
 * @param use use of the graph after the pass
 */
public record PassOptions(PassMode mode, GraphUse use) {

    /** Returns the options of a message. */
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
