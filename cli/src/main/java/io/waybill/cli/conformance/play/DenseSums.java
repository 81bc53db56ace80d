package io.waybill.cli.conformance.play;

import io.waybill.api.SparseTensor;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.tensor.Element;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Optional;

/** Spreads a sparse tensor out, elements of one place added up, and compares it with a dense one. Real numbers only. Stateless. */
final class DenseSums {

    private static final int MAX_ELEMENTS = 1 << 20;

    private DenseSums() {}

    static Optional<String> difference(Tensor expected, SparseTensor found) {
        if (!Arrays.equals(expected.sizes(), found.sizes()) || expected.dtype() != found.dtype()) {
            return Optional.of("dense: expected " + expected + ", found " + found);
        }
        if (expected.elementCount() > MAX_ELEMENTS) {
            return Optional.of("dense: more than " + MAX_ELEMENTS + " elements are not compared");
        }
        double[] wanted = elements(expected);
        double[] sums = sums(found, wanted.length);
        return Arrays.equals(wanted, sums)
                ? Optional.empty()
                : Optional.of("dense: expected " + Arrays.toString(wanted) + ", found " + Arrays.toString(sums) + " in "
                        + Comparison.shown(Value.of(found)));
    }

    private static double[] elements(Tensor tensor) {
        double[] elements = new double[(int) tensor.elementCount()];
        int i = 0;
        for (long place : new Places(tensor)) {
            elements[i++] = ((Number) Element.at(tensor, place)).doubleValue();
        }
        return elements;
    }

    private static double[] sums(SparseTensor sparse, int count) {
        double[] sums = new double[count];
        if (sparse.elementCount() == 0) {
            return sums;
        }
        double[] places = elements(sparse.indices());
        int stored = (int) sparse.elementCount();
        int block = (int) (sparse.values().elementCount() / stored);
        Iterator<Long> values = new Places(sparse.values()).iterator();
        for (int i = 0; i < stored; i++) {
            int at = 0;
            for (int row = 0; row < sparse.sparseDimensions(); row++) {
                at = Math.toIntExact(at * sparse.size(row) + (long) places[row * stored + i]);
            }
            for (int j = 0; j < block; j++) {
                sums[at * block + j] += ((Number) Element.at(sparse.values(), values.next())).doubleValue();
            }
        }
        return sums;
    }
}
