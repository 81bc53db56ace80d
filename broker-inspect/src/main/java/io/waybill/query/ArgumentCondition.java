package io.waybill.query;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Condition that an argument of a recorded call has a value. Immutable.
 *
 * @param path name of the argument, or its number from 0 on for one without a name; after a dot, names of fields or
 *     numbers of elements inside it: {@code order.lines.0}
 * @param wanted condition on its value
 */
public record ArgumentCondition(String path, Predicate<Value> wanted) {

    private static final String PICKLE = "pickle";
    private static final String BETWEEN_NAMES = "\\.";

    public ArgumentCondition {
        if (path.isBlank()) {
            throw new IllegalArgumentException("an argument has a name or a number");
        }
    }

    /**
     * Returns the condition that a value of any kind has this text.
     *
     * @param text a text, a number, {@code true}, {@code false} or {@code none}
     */
    public static ArgumentCondition written(String path, String text) {
        return new ArgumentCondition(path, found -> isWritten(found, text));
    }

    /** Returns the condition that a value is equal to another one; 2 and 2.0 are equal. */
    public static ArgumentCondition equalTo(String path, Value value) {
        Optional<BigDecimal> number = number(value);
        return new ArgumentCondition(
                path,
                number.isEmpty()
                        ? value::equals
                        : found -> number(found)
                                .filter(other -> other.compareTo(number.get()) == 0)
                                .isPresent());
    }

    boolean isMetBy(Invocation call) {
        Value whole = call.named().get(path); // names may have dots in them
        return (whole != null && wanted.test(whole)) || at(call).filter(wanted).isPresent();
    }

    private Optional<Value> at(Invocation call) {
        String[] names = path.split(BETWEEN_NAMES);
        Value found = names.length == 0 ? null : call.named().get(names[0]);
        if (found == null && names.length > 0) {
            found = element(call.positional(), names[0]);
        }
        if (found == null && names.length > 0 && call.named().containsKey(PICKLE)) {
            found = besidePickle(call, names[0]);
        }
        for (int i = 1; i < names.length && found != null; i++) {
            found = inside(found, names[i]);
        }
        return Optional.ofNullable(found);
    }

    /** Returns the displayed argument of a call of a Python function, which has these in two fields. */
    private static Value besidePickle(Invocation call, String name) {
        Value positional = inside(call.named().get("args"), name);
        return positional == null ? inside(call.named().get("kwargs"), name) : positional;
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
            if (isWritten(entry.getKey(), name)) {
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

    /** Returns the value of a number that has one; empty for infinity, and for a value that is not a number. */
    private static Optional<BigDecimal> number(Value value) {
        if (value instanceof Value.Int number) {
            return Optional.of(BigDecimal.valueOf(number.value()));
        }
        return value instanceof Value.Float number && Double.isFinite(number.value())
                ? Optional.of(BigDecimal.valueOf(number.value()))
                : Optional.empty();
    }

    private static boolean isWritten(Value found, String text) {
        Optional<BigDecimal> number = number(found);
        if (number.isPresent()) {
            return isNumber(number.get(), text);
        } else if (found instanceof Value.Text string) {
            return string.value().equals(text);
        } else if (found instanceof Value.Float notFinite) {
            return Double.toString(notFinite.value()).equalsIgnoreCase(text);
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
