package io.waybill.api.tensor;

import java.util.Arrays;
import java.util.Objects;

/**
 * A tensor: a view of the bytes of a {@link Storage} as an array of up to {@value #MAX_DIMENSIONS} dimensions.
 *
 * <p>The constructor checks that every element lies inside the storage, whatever the strides. Immutable; the storage's
 * bytes are not. A tensor holds no count of its storage.
 */
public final class Tensor {

    /** Maximum number of dimensions: as in libtorch's own iterators. */
    public static final int MAX_DIMENSIONS = 64;

    private final DType dtype;
    private final long[] sizes;
    private final long[] strides;
    private final long storageOffset;
    private final boolean requiresGrad;
    private final Storage storage;
    private final long elementCount;

    /**
     * Creates a view and checks its bounds.
     *
     * @param sizes elements per dimension; empty for a scalar
     * @param strides elements between neighbours, per dimension; may be negative or zero
     * @param storageOffset offset of the first element, in elements
     * @throws IllegalArgumentException if some element would lie outside the storage, with what was expected and found
     */
    public Tensor(
            DType dtype, long[] sizes, long[] strides, long storageOffset, boolean requiresGrad, Storage storage) {
        this.dtype = Objects.requireNonNull(dtype);
        this.sizes = sizes.clone();
        this.strides = strides.clone();
        this.storageOffset = storageOffset;
        this.requiresGrad = requiresGrad;
        this.storage = Objects.requireNonNull(storage);
        this.elementCount = check(dtype, this.sizes, this.strides, storageOffset, storage.sizeBytes());
    }

    /** Creates a tensor over the whole of a storage from its start, in row-major order. */
    public static Tensor contiguous(DType dtype, long[] sizes, Storage storage) {
        return new Tensor(dtype, sizes, contiguousStrides(sizes), 0, false, storage);
    }

    /** Returns row-major strides, in elements. */
    public static long[] contiguousStrides(long... sizes) {
        long[] strides = new long[sizes.length];
        long stride = 1;
        for (int i = sizes.length - 1; i >= 0; i--) {
            strides[i] = stride;
            stride = Math.multiplyExact(stride, Math.max(1, sizes[i]));
        }
        return strides;
    }

    /** Returns the number of elements of these sizes. */
    public static long elementCount(long... sizes) {
        long count = 1;
        for (long size : sizes) {
            if (size < 0) {
                throw new IllegalArgumentException("a tensor's sizes must be 0 or more: " + Arrays.toString(sizes));
            }
            if (size == 0) {
                return 0;
            }
        }
        for (long size : sizes) {
            count = multiply(count, size, sizes);
        }
        return count;
    }

    private static long check(DType dtype, long[] sizes, long[] strides, long storageOffset, long storageBytes) {
        if (sizes.length != strides.length || sizes.length > MAX_DIMENSIONS) {
            throw new IllegalArgumentException("a tensor has as many strides as sizes, and at most " + MAX_DIMENSIONS
                    + " of each: " + sizes.length + " sizes, " + strides.length + " strides");
        }
        long count = elementCount(sizes);
        if (storageOffset < 0) {
            throw new IllegalArgumentException("a tensor's storage offset must be 0 or more: " + storageOffset);
        }
        if (count == 0) {
            return 0;
        }
        long lowest = storageOffset;
        long highest = storageOffset;
        try {
            for (int i = 0; i < sizes.length; i++) {
                long reach = Math.multiplyExact(sizes[i] - 1, strides[i]);
                if (reach < 0) {
                    lowest = Math.addExact(lowest, reach);
                } else {
                    highest = Math.addExact(highest, reach);
                }
            }
            long endBytes = Math.multiplyExact(Math.addExact(highest, 1), dtype.sizeBytes());
            if (lowest >= 0 && endBytes <= storageBytes) {
                return count;
            }
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(outside(sizes, strides, storageOffset, storageBytes), e);
        }
        throw new IllegalArgumentException(outside(sizes, strides, storageOffset, storageBytes));
    }

    private static long multiply(long count, long size, long[] sizes) {
        try {
            return Math.multiplyExact(count, size);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("a tensor has less than 2^63 elements: " + Arrays.toString(sizes), e);
        }
    }

    private static String outside(long[] sizes, long[] strides, long storageOffset, long storageBytes) {
        return "a tensor's elements must lie inside its storage of " + storageBytes + " bytes: sizes "
                + Arrays.toString(sizes) + ", strides " + Arrays.toString(strides) + ", offset " + storageOffset;
    }

    public DType dtype() {
        return dtype;
    }

    public Device device() {
        return storage.device();
    }

    public int dimensions() {
        return sizes.length;
    }

    public long size(int dimension) {
        return sizes[dimension];
    }

    /** Returns a copy of the sizes. */
    public long[] sizes() {
        return sizes.clone();
    }

    public long stride(int dimension) {
        return strides[dimension];
    }

    /** Returns a copy of the strides, in elements. */
    public long[] strides() {
        return strides.clone();
    }

    /** Returns the offset of the first element, in elements. */
    public long storageOffset() {
        return storageOffset;
    }

    /** Returns whether the tensor requires a gradient; sent with the tensor, as in PyTorch. */
    public boolean requiresGrad() {
        return requiresGrad;
    }

    public Storage storage() {
        return storage;
    }

    public long elementCount() {
        return elementCount;
    }

    /** Returns the total size of the elements in bytes, without gaps between them. */
    public long elementBytes() {
        return elementCount * dtype.sizeBytes();
    }

    public boolean isContiguous() {
        long stride = 1;
        for (int i = sizes.length - 1; i >= 0; i--) {
            if (sizes[i] == 0) {
                return true;
            }
            if (sizes[i] != 1) {
                if (strides[i] != stride) {
                    return false;
                }
                stride *= sizes[i];
            }
        }
        return true;
    }

    /** Returns dtype, sizes and device; never the elements. */
    @Override
    public String toString() {
        return dtype.torchName() + Arrays.toString(sizes) + "@" + device();
    }
}
