package io.waybill.cli.demo;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.npy.Npy;
import io.waybill.tensor.HostMemory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Random;

/** Two matrices in files, and their product in plain Java for comparison. For one thread. */
final class Matrices {

    static final int ROWS = 400;
    static final int INNER = 300;
    static final int COLUMNS = 200;

    private static final long SEED = 20_261_120;

    private final HostMemory memory;
    private final float[] left = new float[ROWS * INNER];
    private final float[] right = new float[INNER * COLUMNS];

    Matrices(HostMemory memory) {
        this.memory = memory;
        Random random = new Random(SEED);
        fill(left, random);
        fill(right, random);
    }

    private static void fill(float[] elements, Random random) {
        for (int i = 0; i < elements.length; i++) {
            elements[i] = random.nextFloat() - 0.5f;
        }
    }

    /** Writes both matrices. */
    void write(Path leftFile, Path rightFile) throws IOException {
        write(leftFile, left, ROWS, INNER);
        write(rightFile, right, INNER, COLUMNS);
    }

    private void write(Path file, float[] elements, long rows, long columns) throws IOException {
        Storage storage = memory.allocate(4L * elements.length);
        try {
            floats(storage).put(elements);
            Npy.write(file, Tensor.contiguous(DType.FLOAT32, new long[] {rows, columns}, storage));
        } finally {
            storage.release();
        }
    }

    private static FloatBuffer floats(Storage storage) {
        ByteBuffer bytes = storage.bytes(0, Math.toIntExact(storage.sizeBytes()));
        return bytes.order(ByteOrder.nativeOrder()).asFloatBuffer();
    }

    /** Returns the largest difference between a file and the product. */
    double largestDifference(Path file) throws IOException, DemoFailedException {
        Tensor product = Npy.read(file, memory::allocate);
        try {
            if (product.dtype() != DType.FLOAT32 || product.size(0) != ROWS || product.size(1) != COLUMNS) {
                throw new DemoFailedException("the product came back as " + product);
            }
            FloatBuffer found = floats(product.storage());
            double largest = 0;
            for (int row = 0; row < ROWS; row++) {
                for (int column = 0; column < COLUMNS; column++) {
                    long at = row * product.stride(0) + column * product.stride(1);
                    largest = Math.max(largest, Math.abs(found.get((int) at) - element(row, column)));
                }
            }
            return largest;
        } finally {
            product.storage().release();
        }
    }

    private double element(int row, int column) {
        double sum = 0;
        for (int i = 0; i < INNER; i++) {
            sum += (double) left[row * INNER + i] * right[i * COLUMNS + column];
        }
        return sum;
    }
}
