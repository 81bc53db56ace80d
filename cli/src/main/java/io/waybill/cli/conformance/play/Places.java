package io.waybill.cli.conformance.play;

import io.waybill.api.Tensor;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Where the elements of a tensor lie in its storage, in row-major order.
 *
 * @param tensor in host memory
 */
record Places(Tensor tensor) implements Iterable<Long> {

    @Override
    public Iterator<Long> iterator() {
        return new Walk();
    }

    private final class Walk implements Iterator<Long> {

        private final long[] at = new long[tensor.dimensions()];
        private long left = tensor.elementCount();

        @Override
        public boolean hasNext() {
            return left > 0;
        }

        @Override
        public Long next() {
            if (left == 0) {
                throw new NoSuchElementException();
            }
            long place = tensor.storageOffset();
            for (int i = 0; i < at.length; i++) {
                place += at[i] * tensor.stride(i);
            }
            for (int i = at.length - 1; i >= 0 && ++at[i] == tensor.size(i); i--) {
                at[i] = 0;
            }
            left--;
            return place;
        }
    }
}
