package io.waybill.script;

import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Values as the text of {@code cases.txt}: Python's literals, and {@code Tf4:2x1[1.0, 2.0]} for tensors. */
final class ValueText {

    private static final Map<String, DType> DTYPES =
            Map.of("f4", DType.FLOAT32, "f8", DType.FLOAT64, "i8", DType.INT64, "i4", DType.INT32, "b1", DType.BOOL);

    private final String text;
    private int at;

    private ValueText(String text) {
        this.text = text;
    }

    static Value parse(String text) {
        ValueText reader = new ValueText(text.strip());
        Value value = reader.value();
        if (reader.at != reader.text.length()) {
            throw new IllegalArgumentException("no value: " + text + " behind " + reader.at);
        }
        return value;
    }

    private Value value() {
        switch (text.charAt(at)) {
            case '[':
                return new Value.Items(values('[', ']'));
            case '(':
                return new Value.Tuple(values('(', ')'));
            case '{':
                return dict();
            case '"':
                return Value.of(string());
            case 'D':
                at++;
                return Value.of(Device.parse(string()));
            case 'Y':
                at++;
                return Value.of(DType.valueOf(string().toUpperCase(java.util.Locale.ROOT)));
            default:
                return text.startsWith("Tf", at) || text.startsWith("Ti", at) || text.startsWith("Tb", at)
                        ? Value.of(tensor())
                        : word();
        }
    }

    private List<Value> values(char open, char close) {
        List<Value> values = new ArrayList<>();
        expect(open);
        while (text.charAt(at) != close) {
            values.add(value());
            skip(", ");
        }
        expect(close);
        return values;
    }

    private Value dict() {
        Map<Value, Value> entries = new LinkedHashMap<>();
        expect('{');
        while (text.charAt(at) != '}') {
            Value key = value();
            skip(": ");
            entries.put(key, value());
            skip(", ");
        }
        expect('}');
        return new Value.Dict(entries);
    }

    private void expect(char c) {
        if (text.charAt(at++) != c) {
            throw new IllegalArgumentException("no " + c + " at " + (at - 1) + " of " + text);
        }
    }

    private void skip(String part) {
        at += text.startsWith(part, at) ? part.length() : 0;
    }

    private String string() {
        StringBuilder result = new StringBuilder();
        expect('"');
        for (; text.charAt(at) != '"'; at++) {
            at += text.charAt(at) == '\\' ? 1 : 0;
            result.append(text.charAt(at));
        }
        at++;
        return result.toString();
    }

    private Value word() {
        int start = at;
        while (at < text.length() && ",:)]}".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(start, at);
        return switch (word) {
            case "None" -> Value.NONE;
            case "True" -> Value.of(true);
            case "False" -> Value.of(false);
            default -> word.matches("-?\\d+") ? Value.of(Long.parseLong(word)) : Value.of(Double.parseDouble(word));
        };
    }

    private Tensor tensor() {
        DType dtype = DTYPES.get(text.substring(at + 1, at + 3));
        int bracket = text.indexOf('[', at);
        String shape = text.substring(at + 4, bracket);
        at = bracket;
        List<Value> elements = values('[', ']');
        long[] sizes = shape.isEmpty()
                ? new long[0]
                : java.util.Arrays.stream(shape.split("x"))
                        .mapToLong(Long::parseLong)
                        .toArray();
        return switch (dtype) {
            case FLOAT32 ->
                DirectStorage.floats(
                        sizes,
                        elements.stream()
                                .mapToDouble(element -> ((Value.Float) element).value())
                                .toArray());
            case INT64 ->
                DirectStorage.longs(
                        sizes,
                        elements.stream()
                                .mapToLong(element -> ((Value.Int) element).value())
                                .toArray());
            default -> throw new IllegalArgumentException("no argument here: " + dtype);
        };
    }

    static String of(Value value) {
        if (value instanceof Value.Items items) {
            return texts(items.values(), "[", "]");
        } else if (value instanceof Value.Tuple tuple) {
            return texts(tuple.values(), "(", ")");
        } else if (value instanceof Value.Dict dict) {
            return dict.entries().entrySet().stream()
                    .map(entry -> of(entry.getKey()) + ": " + of(entry.getValue()))
                    .collect(Collectors.joining(", ", "{", "}"));
        } else if (value instanceof Value.OfTensor tensor) {
            return tensor(tensor.value());
        } else if (value instanceof Value.Text string) {
            return '"' + string.value().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
        } else if (value instanceof Value.Bool bool) {
            return bool.value() ? "True" : "False";
        } else if (value instanceof Value.None) {
            return "None";
        } else if (value instanceof Value.Int integer) {
            return Long.toString(integer.value());
        } else if (value instanceof Value.Float real) {
            return number(real.value());
        } else if (value instanceof Value.Complex complex) {
            return "C(" + number(complex.real()) + ", " + number(complex.imaginary()) + ")";
        } else if (value instanceof Value.OfDevice device) {
            return "D\"" + device.value() + '"';
        } else if (value instanceof Value.OfDType dtype) {
            return Integer.toString(dtype.value().code()); // which PyTorch returns
        }
        throw new IllegalArgumentException("no text for " + value);
    }

    private static String number(double number) {
        return Double.isInfinite(number)
                ? number > 0 ? "inf" : "-inf"
                : Double.isNaN(number) ? "nan" : Double.toString(number);
    }

    private static String texts(List<Value> values, String open, String close) {
        return values.stream().map(ValueText::of).collect(Collectors.joining(", ", open, close));
    }

    private static String tensor(Tensor tensor) {
        String name = DTYPES.entrySet().stream()
                .filter(entry -> entry.getValue() == tensor.dtype())
                .findFirst()
                .orElseThrow()
                .getKey();
        List<String> sizes = new ArrayList<>();
        for (int i = 0; i < tensor.dimensions(); i++) {
            sizes.add(Long.toString(tensor.size(i)));
        }
        List<String> elements = new ArrayList<>();
        for (double element : Calls.elements(tensor)) {
            elements.add(
                    name.startsWith("f")
                            ? number(element)
                            : name.startsWith("b") ? element == 0 ? "False" : "True" : Long.toString((long) element));
        }
        return "T" + name + ":" + String.join("x", sizes) + "[" + String.join(", ", elements) + "]";
    }

    /** Whether two texts are equal but for the last digits of floating-point numbers. */
    static boolean isNear(String one, String other) {
        String[] ones = one.split("(?<=[\\[\\](){}, :])|(?=[\\[\\](){}, :])");
        String[] others = other.split("(?<=[\\[\\](){}, :])|(?=[\\[\\](){}, :])");
        if (ones.length != others.length) {
            return false;
        }
        for (int i = 0; i < ones.length; i++) {
            if (!ones[i].equals(others[i]) && !isNearNumber(ones[i], others[i])) {
                return false;
            }
        }
        return true;
    }

    private static boolean isNearNumber(String one, String other) {
        boolean floats = one.matches("-?\\d+\\.\\d+(E-?\\d+)?") && other.matches("-?\\d+(\\.\\d+)?(e[-+]?\\d+)?");
        if (!floats) {
            return false;
        }
        double a = Double.parseDouble(one);
        double b = Double.parseDouble(other);
        return Math.abs(a - b) <= 1e-5 * Math.max(1, Math.max(Math.abs(a), Math.abs(b)));
    }
}
