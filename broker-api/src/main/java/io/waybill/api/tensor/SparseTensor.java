package io.waybill.api.tensor;

import java.util.Arrays;
import java.util.Objects;

/**
 * A sparse tensor in coordinate format (COO): the indices of its elements and the elements, each a dense
 * {@link Tensor}.
 *
 * <p>With {@code d} sparse dimensions and {@code n} elements, {@code indices} has the sizes {@code [d, n]} and
 * {@code values} the sizes {@code [n, …]}, where {@code …} are the sizes of the dense dimensions, the last ones. The
 * constructor checks that; it does not read the indices, so an index out of bounds is detected only when it is used.
 *
 * <p>Immutable; the bytes are not. It requires a gradient if its values do ({@link Tensor#requiresGrad()}). Holds no
 * count of the storages.
 */
public final class SparseTensor {

    private final Tensor indices;
    private final Tensor values;
    private final long[] sizes;
    private final boolean isCoalesced;

    /**
     * Creates a sparse tensor and checks its parts against each other.
     *
     * @param indices of type int64, one column per element
     * @param sizes of the whole tensor: of the sparse dimensions, then of the dense ones
     * @param isCoalesced whether the indices are unique and sorted
     * @throws IllegalArgumentException if indices, values and sizes don't match, with what was expected and found
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

    /** Returns the indices: int64, a row per sparse dimension, a column per element. */
    public Tensor indices() {
        return indices;
    }

    public Tensor values() {
        return values;
    }

    /** Returns a copy of the sizes. */
    public long[] sizes() {
        return sizes.clone();
    }

    public int dimensions() {
        return sizes.length;
    }

    public long size(int dimension) {
        return sizes[dimension];
    }

    /** Returns the number of sparse dimensions, which come before the dense ones. */
    public int sparseDimensions() {
        return (int) indices.size(0);
    }

    /** Returns the number of stored elements: PyTorch's {@code nnz}. */
    public long elementCount() {
        return indices.size(1);
    }

    /** Returns whether the indices are unique and sorted. */
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

    /** Returns dtype, sizes, number of elements and device; never the elements. */
    @Override
    public String toString() {
        return dtype().torchName() + Arrays.toString(sizes) + " with " + elementCount() + " elements@" + device();
    }
}
