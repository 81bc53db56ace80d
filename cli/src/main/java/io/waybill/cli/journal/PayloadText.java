package io.waybill.cli.journal;

import io.waybill.api.Invocation;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ValueText;
import io.waybill.query.Payload;
import java.util.Arrays;
import java.util.Map;

/** Shows what a record carries as one line of bounded length, safe for a terminal. For one text. */
final class PayloadText {

    private static final String CUT = "…";

    private final StringBuilder shown = new StringBuilder();
    private final int most;

    private PayloadText(int most) {
        this.most = most;
    }

    /** At most about {@code most} characters. */
    static String of(Payload payload, int payloadBytes, int most) {
        PayloadText text = new PayloadText(most);
        if (payload.call().isPresent()) {
            text.call(payload.call().get());
        } else if (payload.result().isPresent()) {
            text.value(payload.result().get());
        } else if (payload.text().isPresent()) {
            text.add(Printable.oneLine(payload.text().get()));
        } else {
            text.bytes(payload.start(), payloadBytes);
        }
        return text.isFull() ? text.shown.substring(0, most) + CUT : text.shown.toString();
    }

    private boolean isFull() {
        return shown.length() > most;
    }

    private PayloadText add(String part) {
        if (!isFull()) {
            shown.append(part, 0, Math.min(part.length(), most + 1));
        }
        return this;
    }

    private void call(Invocation call) {
        add(call.mode() == Invocation.Mode.ASYNC ? "async " : "")
                .add(Printable.oneLine(call.name()))
                .add("(");
        String separator = "";
        for (Value value : call.positional()) {
            add(separator).value(value);
            separator = ", ";
        }
        for (Map.Entry<String, Value> named : call.named().entrySet()) {
            add(separator).add(Printable.oneLine(named.getKey())).add("=").value(named.getValue());
            separator = ", ";
        }
        add(")");
    }

    private PayloadText value(Value value) {
        if (isFull()) {
            return this;
        }
        if (value instanceof Value.OfTensor tensor) {
            return add(tensor(tensor.value()));
        } else if (value instanceof Value.OfSparse sparse) {
            return add(ValueText.kind(sparse.value()));
        } else if (value instanceof Value.Items items) {
            return values("[", items.values(), "]");
        } else if (value instanceof Value.Tuple tuple) {
            return values("(", tuple.values(), ")");
        } else if (value instanceof Value.Dict dict) {
            return dict(dict);
        } else if (value instanceof Value.Text text) {
            String part = text.value().length() > most ? text.value().substring(0, most) : text.value();
            return add("'").add(Printable.of(part).replace("\n", "\\n").replace("\t", "\\t"))
                    .add("'");
        }
        return add(plain(value));
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

    /** Kind and shape. */
    static String tensor(Tensor tensor) {
        String text = tensor.dtype().torchName() + Arrays.toString(tensor.sizes());
        return tensor.device().isCpu() ? text : text + " on " + tensor.device();
    }

    private PayloadText values(String open, Iterable<Value> values, String close) {
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

    private PayloadText dict(Value.Dict dict) {
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

    private void bytes(byte[] start, int payloadBytes) {
        add(payloadBytes + " bytes");
        if (start.length > 0) {
            add(":");
            for (byte one : start) {
                add(String.format(" %02x", one));
            }
            add(payloadBytes > start.length ? " " + CUT : "");
        }
    }
}
