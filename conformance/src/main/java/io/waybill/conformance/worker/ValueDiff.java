package io.waybill.conformance.worker;

import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.show.ValueText;
import io.waybill.conformance.cases.Expected.Margin;
import io.waybill.tensor.memory.Element;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Compares values: kinds, dtypes, shapes and elements. A method returns the first difference, with its place; null for
 * none. For one thread.
 */
final class ValueDiff {

    private static final int SHOWN = 400;
    private static final int MAX_DENSE_ELEMENTS = 1 << 20;

    private final Margin margin;

    ValueDiff(Margin margin) {
        this.margin = margin;
    }

    static Optional<String> difference(Value expected, Value found, Margin margin) {
        return Optional.ofNullable(new ValueDiff(margin).values("the value", expected, found));
    }

    private String values(String location, Value expected, Value found) {
        if (expected instanceof Value.OfTensor one && found instanceof Value.OfTensor other) {
            return tensors(location, one.value(), other.value());
        } else if (expected instanceof Value.OfSparse one && found instanceof Value.OfSparse other) {
            return sparse(location, one.value(), other.value());
        } else if (expected instanceof Value.Items one && found instanceof Value.Items other) {
            return lists(location, one.values(), other.values());
        } else if (expected instanceof Value.Tuple one && found instanceof Value.Tuple other) {
            return lists(location, one.values(), other.values());
        } else if (expected instanceof Value.Dict one && found instanceof Value.Dict other) {
            return dicts(location, one.entries(), other.entries());
        }
        boolean isEqual = expected instanceof Value.Float one && found instanceof Value.Float other
                ? margin.allows(one.value(), other.value())
                : expected.equals(found);
        return isEqual ? null : location + ": expected " + shown(expected) + ", found " + shown(found);
    }

    static String shown(Value value) {
        String text = value.getClass().getSimpleName() + " " + ValueText.of(value);
        return text.length() > SHOWN ? text.substring(0, SHOWN) + "…" : text;
    }

    private String lists(String location, List<Value> expected, List<Value> found) {
        if (expected.size() != found.size()) {
            return location + ": expected " + expected.size() + " elements, found " + found.size();
        }
        String difference = null;
        for (int i = 0; i < expected.size() && difference == null; i++) {
            difference = values(location + "[" + i + "]", expected.get(i), found.get(i));
        }
        return difference;
    }

    private String dicts(String location, Map<Value, Value> expected, Map<Value, Value> found) {
        if (!expected.keySet().equals(found.keySet())) {
            return location + ": expected the keys " + expected.keySet() + ", found " + found.keySet();
        }
        String difference = null;
        for (Value key : expected.keySet()) {
            difference = difference != null
                    ? difference
                    : values(location + "[" + ValueText.of(key) + "]", expected.get(key), found.get(key));
        }
        return difference;
    }

    private String sparse(String location, SparseTensor expected, SparseTensor found) {
        if (!Arrays.equals(expected.sizes(), found.sizes()) || expected.isCoalesced() != found.isCoalesced()) {
            return location + ": expected " + shown(Value.of(expected)) + ", found " + shown(Value.of(found));
        }
        String difference = tensors(location + ".indices", expected.indices(), found.indices());
        return difference == null ? tensors(location + ".values", expected.values(), found.values()) : difference;
    }

    private String tensors(String location, Tensor expected, Tensor found) {
        if (expected.dtype() != found.dtype() || !Arrays.equals(expected.sizes(), found.sizes())) {
            return location + ": expected " + expected + ", found " + found;
        }
        for (long i = 0; i < expected.elementCount(); i++) {
            Object one = element(expected, i);
            Object other = element(found, i);
            if (!elements(one, other)) {
                return location + ": expected " + text(one) + " for element " + i + " in row-major order, found "
                        + text(other) + " in " + shown(Value.of(found));
            }
        }
        return null;
    }

    /** The element at a position in row-major order. */
    private static Object element(Tensor tensor, long position) {
        long location = tensor.storageOffset();
        for (int i = tensor.dimensions() - 1; i >= 0; i--) {
            location += position % tensor.size(i) * tensor.stride(i);
            position /= tensor.size(i);
        }
        return Element.at(tensor, location);
    }

    private boolean elements(Object expected, Object found) {
        if (expected instanceof Number one && found instanceof Number other) {
            return one.equals(other) || margin.allows(one.doubleValue(), other.doubleValue());
        } else if (expected instanceof double[] one && found instanceof double[] other) {
            return margin.allows(one[0], other[0]) && margin.allows(one[1], other[1]);
        }
        return expected.equals(found);
    }

    private static String text(Object element) {
        return element instanceof double[] complex ? Arrays.toString(complex) : element.toString();
    }

    /** Compares a sparse tensor, spread out and elements of one place added up, with a dense one. Real numbers only. */
    static Optional<String> denseDifference(Tensor expected, SparseTensor found) {
        if (!Arrays.equals(expected.sizes(), found.sizes()) || expected.dtype() != found.dtype()) {
            return Optional.of("dense: expected " + expected + ", found " + found);
        } else if (expected.elementCount() > MAX_DENSE_ELEMENTS) {
            return Optional.of("dense: more than " + MAX_DENSE_ELEMENTS + " elements are not compared");
        }
        double[] wanted = reals(expected);
        double[] sums = new double[wanted.length];
        double[] indices = reals(found.indices());
        double[] values = reals(found.values());
        int stored = (int) found.elementCount();
        int block = stored == 0 ? 0 : values.length / stored;
        for (int i = 0; i < stored; i++) {
            long at = 0;
            for (int row = 0; row < found.sparseDimensions(); row++) {
                at = at * found.size(row) + (long) indices[row * stored + i];
            }
            for (int j = 0; j < block; j++) {
                sums[Math.toIntExact(at * block + j)] += values[i * block + j];
            }
        }
        return Arrays.equals(wanted, sums)
                ? Optional.empty()
                : Optional.of("dense: expected " + Arrays.toString(wanted) + ", found " + Arrays.toString(sums) + " in "
                        + shown(Value.of(found)));
    }

    private static double[] reals(Tensor tensor) {
        double[] elements = new double[(int) tensor.elementCount()];
        Arrays.setAll(elements, i -> ((Number) element(tensor, i)).doubleValue());
        return elements;
    }
}
