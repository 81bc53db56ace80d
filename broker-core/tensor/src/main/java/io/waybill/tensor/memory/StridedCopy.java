package io.waybill.tensor.memory;

import io.waybill.api.tensor.Tensor;
import org.agrona.UnsafeApi;

/** Copies the elements of a tensor with any strides in row-major order, without gaps. Stateless. */
public final class StridedCopy {

    private StridedCopy() {}

    /**
     * Copies the elements.
     *
     * @param storage the address of the first byte of the tensor's storage
     * @param to room for the tensor's elements
     */
    public static void copy(Tensor tensor, long storage, long to, NativeMemory memory) {
        if (tensor.elementCount() == 0) {
            return;
        }
        int elementBytes = tensor.dtype().sizeBytes();
        long from = storage + tensor.storageOffset() * elementBytes;
        if (tensor.isContiguous()) {
            memory.copy(from, to, tensor.elementBytes());
            return;
        }
        long[] sizes = new long[tensor.dimensions()];
        long[] strides = new long[tensor.dimensions()];
        int dimensions = collapse(tensor, elementBytes, sizes, strides);
        copyDimensions(from, to, sizes, strides, dimensions, elementBytes, memory);
    }

    /**
     * Leaves out dimensions of one element and joins dimensions that follow each other in memory. Strides are in bytes
     * from here on.
     */
    private static int collapse(Tensor tensor, int elementBytes, long[] sizes, long[] strides) {
        int last = -1;
        for (int i = 0; i < tensor.dimensions(); i++) {
            long size = tensor.size(i);
            long stride = tensor.stride(i) * elementBytes;
            if (size == 1) {
                continue;
            }
            if (last >= 0 && strides[last] == stride * size) {
                sizes[last] *= size;
                strides[last] = stride;
            } else {
                last++;
                sizes[last] = size;
                strides[last] = stride;
            }
        }
        return last + 1;
    }

    /** Steps through all but the innermost dimension, which is copied at once. At least one dimension is left. */
    private static void copyDimensions(
            long from, long to, long[] sizes, long[] strides, int dimensions, int elementBytes, NativeMemory memory) {
        int inner = dimensions - 1;
        long innerBytes = sizes[inner] * elementBytes;
        long[] position = new long[dimensions];
        long source = from;
        long target = to;
        while (true) {
            if (strides[inner] == elementBytes) {
                memory.copy(source, target, innerBytes);
            } else {
                copyElements(source, target, sizes[inner], strides[inner], elementBytes);
            }
            target += innerBytes;
            int dimension = inner - 1;
            while (dimension >= 0 && ++position[dimension] == sizes[dimension]) {
                source -= (sizes[dimension] - 1) * strides[dimension];
                position[dimension] = 0;
                dimension--;
            }
            if (dimension < 0) {
                return;
            }
            source += strides[dimension];
        }
    }

    private static void copyElements(long from, long to, long count, long stride, int elementBytes) {
        long source = from;
        long target = to;
        for (long i = 0; i < count; i++) {
            switch (elementBytes) {
                case 1 -> UnsafeApi.putByte(target, UnsafeApi.getByte(source));
                case 2 -> UnsafeApi.putShort(target, UnsafeApi.getShort(source));
                case 4 -> UnsafeApi.putInt(target, UnsafeApi.getInt(source));
                case 8 -> UnsafeApi.putLong(target, UnsafeApi.getLong(source));
                default -> UnsafeApi.copyMemory(source, target, elementBytes);
            }
            source += stride;
            target += elementBytes;
        }
    }
}
