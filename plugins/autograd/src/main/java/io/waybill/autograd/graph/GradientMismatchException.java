package io.waybill.autograd.graph;

/** Gradients that don't fit the tensors they are for: another number of them, or another shape. */
public final class GradientMismatchException extends BackwardException {

    private static final long serialVersionUID = 1;

    GradientMismatchException(String message) {
        super(message);
    }
}
