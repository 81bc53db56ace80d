package io.waybill.autograd.graph;

import java.util.Arrays;
import java.util.Locale;
import org.bytedeco.pytorch.InputMetadata;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TypeMeta;
import org.bytedeco.pytorch.global.torch;

/**
 * Converts gradients to the shape and the element type of their tensors, like libtorch's engine between two nodes.
 *
 * <p><b>Threads.</b> One.
 */
final class InputFit {

    private final NativeLayout layout = new NativeLayout();

    /**
     * Returns a gradient that fits an input: summed over dimensions that were broadcast, and with its element type.
     *
     * @param gradient a defined gradient, which the caller owns
     * @param source node or entry of its origin, for the text of an error
     * @param edge number of its edge there
     * @return the gradient itself, or a new object, which the caller frees
     * @throws GradientMismatchException if its shape does not fit
     */
    Tensor of(Tensor gradient, GraphNode target, int input, Object source, int edge) {
        InputMetadata wanted = target.node.input_metadata(input);
        Tensor fitting = wanted.is_same_shape(gradient) ? gradient : reduced(gradient, wanted, source, edge);
        if (fitting.scalar_type().value == layout.type(wanted)) {
            return fitting;
        }
        try {
            return converted(fitting, wanted, source, edge);
        } finally {
            if (fitting != gradient) {
                Pointers.free(fitting);
            }
        }
    }

    private static Tensor converted(Tensor gradient, InputMetadata wanted, Object source, int edge) {
        TypeMeta type = Pointers.own(wanted.dtype());
        try {
            torch.ScalarType expected = type.toScalarType();
            if (!gradient.is_floating_point() && gradient.is_complex() != torch.isComplexType(expected)) {
                throw new GradientMismatchException(String.format(
                        Locale.ROOT,
                        "gradient %d of %s has a wrong type: expected %s, found %s",
                        edge,
                        name(source),
                        expected,
                        gradient.scalar_type()));
            }
            return Pointers.own(gradient.to(expected));
        } finally {
            Pointers.free(type);
        }
    }

    private static String name(Object source) {
        return source instanceof GraphNode node ? node.name() : source.toString();
    }

    private static Tensor reduced(Tensor gradient, InputMetadata wanted, Object source, int edge) {
        if (wanted.is_expandable_to_shape(gradient)) {
            return Pointers.own(wanted.reduce_grad(gradient));
        }
        Tensor like = Pointers.own(wanted.zeros_like());
        String expected = Arrays.toString(like.shape());
        Pointers.free(like);
        throw new GradientMismatchException(String.format(
                Locale.ROOT,
                "gradient %d of %s has a wrong shape: expected %s, found %s",
                edge,
                name(source),
                expected,
                Arrays.toString(gradient.shape())));
    }
}
