package io.waybill.cli.show;

import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.query.stored.ValueLine;
import io.waybill.tensor.memory.Element;
import java.util.Arrays;
import java.util.StringJoiner;

/** Formats a value as text, similar to Python: tensors by dtype, shape and the first and last elements. Stateless. */
public final class ValueText {

    private static final int SHOWN_AT_AN_END = 3;
    private static final long SHOWN_WHOLE = 200;

    private ValueText() {}

    public static String of(Value value) {
        if (value instanceof Value.Bool bool) {
            return bool.value() ? "True" : "False";
        } else if (value instanceof Value.Int integer) {
            return Long.toString(integer.value());
        } else if (value instanceof Value.Float real) {
            return Double.toString(real.value());
        } else if (value instanceof Value.Complex complex) {
            return complex(complex.real(), complex.imaginary());
        } else if (value instanceof Value.Text text) {
            return quoted(text.value());
        } else if (value instanceof Value.Binary binary) {
            return "<" + binary.value().length + " bytes>";
        } else if (value instanceof Value.OfTensor tensor) {
            return tensor(tensor.value());
        } else if (value instanceof Value.OfSparse sparse) {
            return sparse(sparse.value());
        } else if (value instanceof Value.Items items) {
            return joined("[", items.values(), "]");
        } else if (value instanceof Value.Tuple tuple) {
            return joined("(", tuple.values(), tuple.values().size() == 1 ? ",)" : ")");
        } else if (value instanceof Value.Dict dict) {
            StringJoiner entries = new StringJoiner(", ", "{", "}");
            dict.entries().forEach((key, entry) -> entries.add(of(key) + ": " + of(entry)));
            return entries.toString();
        } else if (value instanceof Value.OfDevice device) {
            return device.value().toString();
        } else if (value instanceof Value.OfDType dtype) {
            return dtype.value().torchName();
        } else if (value instanceof Value.OfRRef reference) {
            return reference.value().toString();
        }
        return "None";
    }

    private static String joined(String open, Iterable<Value> values, String close) {
        StringJoiner joined = new StringJoiner(", ", open, close);
        values.forEach(value -> joined.add(of(value)));
        return joined.toString();
    }

    /** Formats a tensor's kind and some of its elements. */
    public static String tensor(Tensor tensor) {
        StringBuilder shown = new StringBuilder(tensor.dtype().torchName()).append(Arrays.toString(tensor.sizes()));
        if (!tensor.device().isCpu()) {
            return shown.append(" on ").append(tensor.device()).toString();
        }
        if (tensor.dimensions() > 1) {
            shown.append('\n');
        } else {
            shown.append(' ');
        }
        elements(tensor, 0, tensor.storageOffset(), shown);
        return shown.toString();
    }

    private static String sparse(SparseTensor tensor) {
        return ValueLine.kind(tensor) + "\nindices: " + tensor(tensor.indices()) + "\nvalues: "
                + tensor(tensor.values());
    }

    private static void elements(Tensor tensor, int dimension, long position, StringBuilder shown) {
        if (dimension == tensor.dimensions()) {
            shown.append(element(Element.at(tensor, position)));
            return;
        }
        long size = tensor.size(dimension);
        boolean isCut = tensor.elementCount() > SHOWN_WHOLE && size > 2 * SHOWN_AT_AN_END;
        boolean isInnermost = dimension == tensor.dimensions() - 1;
        String separator = isInnermost ? ", " : ",\n" + " ".repeat(dimension + 1);
        shown.append('[');
        for (long i = 0; i < size && tensor.elementCount() > 0; i++) {
            if (i > 0) {
                shown.append(separator);
            }
            if (isCut && i == SHOWN_AT_AN_END) {
                shown.append('…').append(separator);
                i = size - SHOWN_AT_AN_END;
            }
            elements(tensor, dimension + 1, position + i * tensor.stride(dimension), shown);
        }
        shown.append(']');
    }

    private static String element(Object element) {
        if (element instanceof Boolean bool) {
            return bool ? "True" : "False";
        } else if (element instanceof double[] complex) {
            return complex(complex[0], complex[1]);
        }
        return element.toString();
    }

    private static String complex(double real, double imaginary) {
        return real + (imaginary < 0 || 1 / imaginary < 0 ? "" : "+") + imaginary + "j";
    }

    private static String quoted(String text) {
        return "'" + Printable.of(text).replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
