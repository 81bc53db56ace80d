package io.waybill.query.stored;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;

/**
 * Shows values as one line of bounded length: close to Python's way, tensors by dtype and shape. Control characters,
 * except line ends and tabs, are not changed. For one line, on one thread.
 */
public final class ValueLine {

    private static final String CUT = "…";

    private final StringBuilder shown = new StringBuilder();
    private final int max;

    /**
     * Creates a line.
     *
     * @param max approximate number of characters
     */
    public ValueLine(int max) {
        this.max = max;
    }

    /** Formats one value. */
    public static String of(Value value, int max) {
        return new ValueLine(max).value(value).toString();
    }

    /** Formats kind and shape. */
    public static String kind(Tensor tensor) {
        String text = tensor.dtype().torchName() + Arrays.toString(tensor.sizes());
        return tensor.device().isCpu() ? text : text + " on " + tensor.device();
    }

    /** Formats kind, shape and number of elements. */
    public static String kind(SparseTensor tensor) {
        return "sparse " + tensor.dtype().torchName() + Arrays.toString(tensor.sizes()) + " nnz="
                + tensor.elementCount() + (tensor.isCoalesced() ? " coalesced" : "");
    }

    private boolean isFull() {
        return shown.length() > max;
    }

    /** Adds a text unchanged. */
    public ValueLine add(String part) {
        if (!isFull()) {
            shown.append(part, 0, Math.min(part.length(), max + 1));
        }
        return this;
    }

    /** Adds a call with its arguments. */
    public ValueLine call(Invocation call) {
        add(call.mode() == Invocation.Mode.ASYNC ? "async " : "")
                .add(escaped(call.name()))
                .add("(");
        String separator = "";
        for (Value value : call.positional()) {
            add(separator).value(value);
            separator = ", ";
        }
        for (Map.Entry<String, Value> named : call.named().entrySet()) {
            add(separator).add(escaped(named.getKey())).add("=").value(named.getValue());
            separator = ", ";
        }
        return add(")");
    }

    /** Adds a value. */
    public ValueLine value(Value value) {
        if (isFull()) {
            return this;
        }
        if (value instanceof Value.OfTensor tensor) {
            return add(kind(tensor.value()));
        } else if (value instanceof Value.OfSparse sparse) {
            return add(kind(sparse.value()));
        } else if (value instanceof Value.Items items) {
            return values("[", items.values(), "]");
        } else if (value instanceof Value.Tuple tuple) {
            return values("(", tuple.values(), ")");
        } else if (value instanceof Value.Dict dict) {
            return dict(dict);
        } else if (value instanceof Value.Text text) {
            return add("'").add(escaped(text.value())).add("'");
        }
        return add(plain(value));
    }

    private String escaped(String text) {
        String part = text.length() > max ? text.substring(0, max) : text;
        return part.replace("\n", "\\n").replace("\t", "\\t");
    }

    private static String plain(Value value) {
        if (value instanceof Value.Bool bool) {
            return bool.value() ? "True" : "False";
        } else if (value instanceof Value.Int integer) {
            return Long.toString(integer.value());
        } else if (value instanceof Value.Float real) {
            return Double.toString(real.value());
        } else if (value instanceof Value.Complex complex) {
            return complex.real() + "+" + complex.imaginary() + "j";
        } else if (value instanceof Value.Binary binary) {
            return "<" + binary.value().length + " bytes>";
        } else if (value instanceof Value.OfDevice device) {
            return device.value().toString();
        } else if (value instanceof Value.OfDType dtype) {
            return dtype.value().torchName();
        } else if (value instanceof Value.OfRRef reference) {
            return reference.value().toString();
        }
        return "None";
    }

    private ValueLine values(String open, Iterable<Value> values, String close) {
        add(open);
        String separator = "";
        for (Value value : values) {
            if (isFull()) {
                return this;
            }
            add(separator).value(value);
            separator = ", ";
        }
        return add(close);
    }

    private ValueLine dict(Value.Dict dict) {
        add("{");
        String separator = "";
        for (Map.Entry<Value, Value> entry : dict.entries().entrySet()) {
            if (isFull()) {
                return this;
            }
            add(separator).value(entry.getKey()).add(": ").value(entry.getValue());
            separator = ", ";
        }
        return add("}");
    }

    /** Adds the first bytes of a payload whose form is not known. */
    public ValueLine bytes(byte[] start, int payloadBytes) {
        add(payloadBytes + " bytes");
        if (start.length > 0) {
            add(":");
            for (byte one : start) {
                add(String.format(Locale.ROOT, " %02x", one));
            }
            add(payloadBytes > start.length ? " " + CUT : "");
        }
        return this;
    }

    @Override
    public String toString() {
        return isFull() ? shown.substring(0, max) + CUT : shown.toString();
    }
}
