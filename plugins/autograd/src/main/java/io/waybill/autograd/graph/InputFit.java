package io.waybill.autograd.graph;

import java.util.Arrays;
import java.util.function.Supplier;
import org.bytedeco.pytorch.InputMetadata;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TypeMeta;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Brings gradients to the shape and the element type of the tensors that they are for, as libtorch's engine does between two nodes. */
final class InputFit {

    private InputFit() {}

    /**
     * Returns a gradient that fits an input: summed over dimensions that were broadcast, and with its element type.
     *
     * @param gradient a defined one, which stays the caller's
     * @param what names the gradient in an error
     * @return a new object
     * @throws GradientMismatchException when its shape does not fit
     */
    static Tensor fit(Tensor gradient, GraphNode target, int input, Supplier<String> what) {
        InputMetadata wanted = target.node.input_metadata(input);
        Tensor fitting = wanted.is_same_shape(gradient) ? Handles.keep(gradient) : reduced(gradient, wanted, what);
        TypeMeta wantedType = Handles.own(wanted.dtype());
        try {
            ScalarType type = wantedType.toScalarType();
            if (fitting.scalar_type().value == type.value) {
                return fitting;
            }
            Tensor converted = Handles.own(fitting.to(type));
            Handles.free(fitting);
            return converted;
        } finally {
            Handles.free(wantedType);
        }
    }

    private static Tensor reduced(Tensor gradient, InputMetadata wanted, Supplier<String> what) {
        if (wanted.is_expandable_to_shape(gradient)) {
            return Handles.own(wanted.reduce_grad(gradient));
        }
        Tensor like = Handles.own(wanted.zeros_like());
        String expected = Arrays.toString(like.shape());
        Handles.free(like);
        throw new GradientMismatchException("%s has a wrong shape: expected %s, found %s"
                .formatted(what.get(), expected, Arrays.toString(gradient.shape())));
    }
}
