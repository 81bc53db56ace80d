package io.waybill.autograd.graph;

import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Tensors of doubles for tests, and what libtorch's own engine computes. */
final class Tensors {

    private Tensors() {}

    static Tensor of(double... values) {
        try (DoublePointer bytes = new DoublePointer(values)) {
            return torch.from_blob(bytes, new long[] {values.length}, new TensorOptions(ScalarType.Double))
                    .clone();
        }
    }

    static Tensor leaf(double... values) {
        Tensor leaf = of(values);
        leaf.set_requires_grad(true);
        return leaf;
    }

    /** A leaf of the shape (rows, values / rows). */
    static Tensor matrix(int rows, double... values) {
        Tensor leaf = of(values).view(rows, -1).clone();
        leaf.set_requires_grad(true);
        return leaf;
    }

    static double[] values(Tensor tensor) {
        Tensor dense = tensor.is_sparse() ? tensor.to_dense() : tensor;
        Tensor whole = dense.detach().to(ScalarType.Double).contiguous();
        double[] values = new double[(int) whole.numel()];
        new DoublePointer(whole.data_ptr()).capacity(values.length).get(values);
        Reference.reachabilityFence(whole); // its memory is freed with it
        return values;
    }

    /** The gradients that libtorch's engine computes from ones; null where a leaf is not used. */
    static List<double[]> gradients(List<Tensor> roots, List<Tensor> leaves) {
        Tensor[] ones = roots.stream().map(torch::ones_like).toArray(Tensor[]::new);
        TensorVector gradients = torch.grad(
                new TensorVector(roots.toArray(Tensor[]::new)),
                new TensorVector(leaves.toArray(Tensor[]::new)),
                new TensorVector(ones),
                new BoolOptional(true),
                false,
                true);
        List<double[]> values = Arrays.stream(gradients.get())
                .map(gradient -> gradient.defined() ? values(gradient) : null)
                .toList();
        Reference.reachabilityFence(gradients); // what it gave lies in it
        return values;
    }
}
