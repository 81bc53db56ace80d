package io.waybill.autograd.graph;

/** Signals gradients that don't fit their tensors: a different number of them, or a different shape. */
public final class GradientMismatchException extends BackwardException {

    private static final long serialVersionUID = 1;

    GradientMismatchException(String message) {
        super(message);
    }
}
