package io.waybill.api.tensor;

import java.util.Arrays;
import java.util.Objects;

/**
 * A sparse tensor in coordinate form (COO): the places of its elements and the elements, each a dense {@link Tensor}.
 *
 * <p>With {@code d} sparse dimensions and {@code n} elements, {@code indices} has the sizes {@code [d, n]} and {@code values} the sizes
 * {@code [n, …]}, where {@code …} are the sizes of the dense dimensions, the last ones. The constructor checks that; it does not read
 * the indices, so that a place outside of the sizes is found by their user.
 *
 * <p>Immutable; the bytes are not. Whether it requires a gradient says its values' {@link Tensor#requiresGrad()}. Holds no count of the
 * storages.
 */
public final class SparseTensor {

    private final Tensor indices;
    private final Tensor values;
    private final long[] sizes;
    private final boolean isCoalesced;

    /**
     * @param indices of type int64, one column per element
     * @param sizes of the whole tensor: of the sparse dimensions, then of the dense ones
     * @param isCoalesced whether each place comes once, and in order
     * @throws IllegalArgumentException when indices, values and sizes don't belong together, with what was expected and found
     */
    public SparseTensor(Tensor indices, Tensor values, long[] sizes, boolean isCoalesced) {
        this.indices = Objects.requireNonNull(indices);
        this.values = Objects.requireNonNull(values);
        this.sizes = sizes.clone();
        this.isCoalesced = isCoalesced;
        checkIndices();
        checkSizes();
        checkValues();
    }

    private void checkIndices() {
        if (indices.dtype() != DType.INT64 || indices.dimensions() != 2 || indices.requiresGrad()) {
            throw new IllegalArgumentException(
                    "a sparse tensor's indices are int64 with 2 dimensions and without a gradient: " + indices);
        }
        if (!indices.device().equals(values.device())) {
            throw new IllegalArgumentException("a sparse tensor's indices and values are on one device: "
                    + indices.device() + ", " + values.device());
        }
    }

    private void checkSizes() {
        if (sizes.length > Tensor.MAX_DIMENSIONS || indices.size(0) > sizes.length) {
            throw new IllegalArgumentException("a sparse tensor has at most " + Tensor.MAX_DIMENSIONS
                    + " dimensions, and as many sparse ones as its indices have rows: " + sizes.length + ", indices "
                    + indices);
        }
        Tensor.elementCount(sizes);
    }

    private void checkValues() {
        int sparse = sparseDimensions();
        boolean fits = values.dimensions() == 1 + sizes.length - sparse && values.size(0) == indices.size(1);
        for (int i = sparse; fits && i < sizes.length; i++) {
            fits = values.size(1 + i - sparse) == sizes[i];
        }
        if (!fits) {
            throw new IllegalArgumentException("a sparse tensor's values have a size for the elements and those of the"
                    + " dense dimensions: values " + values + ", indices " + indices + ", sizes "
                    + Arrays.toString(sizes));
        }
    }

    /** The places: int64, a row per sparse dimension, a column per element. */
    public Tensor indices() {
        return indices;
    }

    public Tensor values() {
        return values;
    }

    /** A copy. */
    public long[] sizes() {
        return sizes.clone();
    }

    public int dimensions() {
        return sizes.length;
    }

    public long size(int dimension) {
        return sizes[dimension];
    }

    /** The first dimensions, which the indices speak of. */
    public int sparseDimensions() {
        return (int) indices.size(0);
    }

    /** How many elements are stored: PyTorch's {@code nnz}. */
    public long elementCount() {
        return indices.size(1);
    }

    /** Whether each place comes once, and in order. */
    public boolean isCoalesced() {
        return isCoalesced;
    }

    public DType dtype() {
        return values.dtype();
    }

    public Device device() {
        return values.device();
    }

    public boolean requiresGrad() {
        return values.requiresGrad();
    }

    /** Dtype, sizes, number of elements and device; never the elements. */
    @Override
    public String toString() {
        return dtype().torchName() + Arrays.toString(sizes) + " with " + elementCount() + " elements@" + device();
    }
}
