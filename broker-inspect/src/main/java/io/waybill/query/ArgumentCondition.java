package io.waybill.query;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Condition that an argument of a recorded call has a value. Immutable.
 *
 * @param path name of the argument, or its number from 0 on for one without a name; behind a dot, names of fields or numbers of
 *     elements inside of it: {@code order.lines.0}
 * @param value the value as people write it: the text itself, a number, {@code true}, {@code false} or {@code none}
 */
public record ArgumentCondition(String path, String value) {

    private static final String BETWEEN_NAMES = "\\.";

    public ArgumentCondition {
        if (path.isBlank()) {
            throw new IllegalArgumentException("an argument has a name or a number");
        }
    }

    boolean isMetBy(Invocation call) {
        Value whole = call.named().get(path); // names may have dots in them
        return (whole != null && isWanted(whole))
                || at(call).filter(this::isWanted).isPresent();
    }

    private Optional<Value> at(Invocation call) {
        String[] names = path.split(BETWEEN_NAMES);
        Value found = names.length == 0 ? null : call.named().get(names[0]);
        if (found == null && names.length > 0) {
            found = element(call.positional(), names[0]);
        }
        for (int i = 1; i < names.length && found != null; i++) {
            found = inside(found, names[i]);
        }
        return Optional.ofNullable(found);
    }

    private static Value inside(Value value, String name) {
        if (value instanceof Value.Dict dict) {
            return field(dict.entries(), name);
        } else if (value instanceof Value.Items items) {
            return element(items.values(), name);
        } else if (value instanceof Value.Tuple tuple) {
            return element(tuple.values(), name);
        }
        return null;
    }

    private static Value field(Map<Value, Value> entries, String name) {
        for (Map.Entry<Value, Value> entry : entries.entrySet()) {
            if (isEqual(entry.getKey(), name)) {
                return entry.getValue();
            }
        }
        return null;
    }

    private static Value element(List<Value> values, String number) {
        try {
            int at = Integer.parseInt(number);
            return at >= 0 && at < values.size() ? values.get(at) : null;
        } catch (NumberFormatException e) {
            return null;
        }
    }

    private boolean isWanted(Value found) {
        return isEqual(found, value);
    }

    private static boolean isEqual(Value found, String text) {
        if (found instanceof Value.Text string) {
            return string.value().equals(text);
        } else if (found instanceof Value.Int number) {
            return isNumber(BigDecimal.valueOf(number.value()), text);
        } else if (found instanceof Value.Float number) {
            double value = number.value();
            return Double.isFinite(value)
                    ? isNumber(BigDecimal.valueOf(value), text)
                    : Double.toString(value).equalsIgnoreCase(text);
        } else if (found instanceof Value.Bool bool) {
            return Boolean.toString(bool.value()).equals(text.toLowerCase(Locale.ROOT));
        }
        return found instanceof Value.None && text.equalsIgnoreCase("none");
    }

    private static boolean isNumber(BigDecimal number, String text) {
        try {
            return number.compareTo(new BigDecimal(text)) == 0;
        } catch (NumberFormatException e) {
            return false;
        }
    }
}
