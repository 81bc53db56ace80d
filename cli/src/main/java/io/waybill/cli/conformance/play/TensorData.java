package io.waybill.cli.conformance.play;

import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.FormatException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The elements of a tensor as a file nests them: with as many levels as dimensions. For one use. */
final class TensorData {

    private final List<Datum> elements = new ArrayList<>();
    private final List<Long> sizes = new ArrayList<>();

    private TensorData() {}

    static TensorData of(Datum nested) throws FormatException {
        TensorData data = new TensorData();
        data.add(nested, 0);
        return data;
    }

    private void add(Datum datum, int depth) throws FormatException {
        if (!(datum instanceof Datum.Row row)) {
            if (depth != sizes.size()) {
                throw new FormatException("expected an array at depth " + depth + ", found " + datum.described());
            }
            elements.add(datum);
            return;
        }
        long size = row.values().size();
        if (depth == sizes.size()) {
            if (!elements.isEmpty()) {
                throw new FormatException("expected an element at depth " + depth + ", found " + datum.described());
            }
            sizes.add(size);
        } else if (sizes.get(depth) != size) {
            throw new FormatException("expected " + sizes.get(depth) + " values at depth " + depth + ", found " + size);
        }
        for (Datum value : row.values()) {
            add(value, depth + 1);
        }
    }

    List<Datum> elements() {
        return elements;
    }

    /** The sizes as nested, or others when the elements are given flat. */
    long[] sizes(long[] wanted) throws FormatException {
        long[] nested = sizes.stream().mapToLong(Long::longValue).toArray();
        if (wanted == null || Arrays.equals(nested, wanted)) {
            return nested;
        }
        long count = io.waybill.api.Tensor.elementCount(wanted);
        if (nested.length > 1 || count != elements.size()) {
            throw new FormatException("the elements have the sizes " + Arrays.toString(nested) + ", and the shape is "
                    + Arrays.toString(wanted));
        }
        return wanted;
    }
}
