package io.waybill.cli.conformance.play;

import io.waybill.api.SparseTensor;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.cli.show.ValueText;
import io.waybill.query.stored.ValueLine;
import io.waybill.tensor.Element;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Compares what was found with what was expected: kinds, dtypes, shapes and elements. For one thread. */
final class Comparison {

    private static final int SHOWN = 400;

    private final Tolerance tolerance;

    Comparison(Tolerance tolerance) {
        this.tolerance = tolerance;
    }

    /** What differs, with its place; empty when nothing does. */
    Optional<String> difference(Value expected, Value found) {
        return Optional.ofNullable(values("the value", expected, found));
    }

    private String values(String place, Value expected, Value found) {
        if (expected instanceof Value.OfTensor one && found instanceof Value.OfTensor other) {
            return tensors(place, one.value(), other.value());
        } else if (expected instanceof Value.OfSparse one && found instanceof Value.OfSparse other) {
            return sparse(place, one.value(), other.value());
        } else if (expected instanceof Value.Items one && found instanceof Value.Items other) {
            return rows(place, one.values(), other.values());
        } else if (expected instanceof Value.Tuple one && found instanceof Value.Tuple other) {
            return rows(place, one.values(), other.values());
        } else if (expected instanceof Value.Dict one && found instanceof Value.Dict other) {
            return dicts(place, one, other);
        } else if (expected instanceof Value.Float one && found instanceof Value.Float other) {
            return tolerance.allows(one.value(), other.value()) ? null : unequal(place, expected, found);
        }
        return expected.equals(found) ? null : unequal(place, expected, found);
    }

    private static String unequal(String place, Value expected, Value found) {
        return place + ": expected " + shown(expected) + ", found " + shown(found);
    }

    static String shown(Value value) {
        String text = value.getClass().getSimpleName() + " " + ValueText.of(value);
        return text.length() > SHOWN ? text.substring(0, SHOWN) + "…" : text;
    }

    private String rows(String place, List<Value> expected, List<Value> found) {
        if (expected.size() != found.size()) {
            return place + ": expected " + expected.size() + " elements, found " + found.size();
        }
        for (int i = 0; i < expected.size(); i++) {
            String difference = values(place + "[" + i + "]", expected.get(i), found.get(i));
            if (difference != null) {
                return difference;
            }
        }
        return null;
    }

    private String dicts(String place, Value.Dict expected, Value.Dict found) {
        if (!expected.entries().keySet().equals(found.entries().keySet())) {
            return place + ": expected the keys " + expected.entries().keySet() + ", found "
                    + found.entries().keySet();
        }
        for (Map.Entry<Value, Value> entry : expected.entries().entrySet()) {
            String at = place + "[" + ValueText.of(entry.getKey()) + "]";
            String difference = values(at, entry.getValue(), found.entries().get(entry.getKey()));
            if (difference != null) {
                return difference;
            }
        }
        return null;
    }

    private String sparse(String place, SparseTensor expected, SparseTensor found) {
        if (!Arrays.equals(expected.sizes(), found.sizes()) || expected.isCoalesced() != found.isCoalesced()) {
            return place + ": expected " + ValueLine.kind(expected) + ", found " + ValueLine.kind(found);
        }
        String difference = tensors(place + ".indices", expected.indices(), found.indices());
        return difference == null ? tensors(place + ".values", expected.values(), found.values()) : difference;
    }

    private String tensors(String place, Tensor expected, Tensor found) {
        if (expected.dtype() != found.dtype() || !Arrays.equals(expected.sizes(), found.sizes())) {
            return place + ": expected " + expected + ", found " + found;
        }
        Iterator<Long> places = new Places(expected).iterator();
        long number = 0;
        for (long at : new Places(found)) {
            Object one = Element.at(expected, places.next());
            Object other = Element.at(found, at);
            if (!elements(one, other)) {
                return place + ": expected " + text(one) + " for element " + number + " in row-major order, found "
                        + text(other) + " in " + shown(Value.of(found));
            }
            number++;
        }
        return null;
    }

    private boolean elements(Object expected, Object found) {
        if (expected instanceof Number one && found instanceof Number other) {
            return one.equals(other) || tolerance.allows(one.doubleValue(), other.doubleValue());
        } else if (expected instanceof double[] one && found instanceof double[] other) {
            return tolerance.allows(one[0], other[0]) && tolerance.allows(one[1], other[1]);
        }
        return expected.equals(found);
    }

    private static String text(Object element) {
        return element instanceof double[] complex ? Arrays.toString(complex) : element.toString();
    }
}
