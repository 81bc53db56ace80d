package io.waybill.replay.compare;

import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.query.stored.ValueLine;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Compares values, and locates a difference by a path such as {@code reply.words} or {@code reply[0][2]}. Thread-safe.
 */
final class ValueComparison {

    private static final Pattern PLAIN_KEY = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    private final Closeness closeness;
    private final TensorComparison tensors;

    ValueComparison(Closeness closeness, TensorComparison tensors) {
        this.closeness = closeness;
        this.tensors = tensors;
    }

    /** Ignores the order of a dict's entries. */
    Optional<String> difference(String path, Value recorded, Value replayed) {
        if (recorded.getClass() != replayed.getClass()) {
            return Optional.of(path + ": recorded " + withKind(recorded) + ", replayed " + withKind(replayed));
        } else if (recorded instanceof Value.Items one && replayed instanceof Value.Items other) {
            return elements(path, one.values(), other.values());
        } else if (recorded instanceof Value.Tuple one && replayed instanceof Value.Tuple other) {
            return elements(path, one.values(), other.values());
        } else if (recorded instanceof Value.Dict one && replayed instanceof Value.Dict other) {
            return entries(path, one, other);
        } else if (recorded instanceof Value.OfTensor one && replayed instanceof Value.OfTensor other) {
            return tensors.difference(path, one.value(), other.value());
        } else if (recorded instanceof Value.OfSparse one && replayed instanceof Value.OfSparse other) {
            return sparse(path, one.value(), other.value());
        }
        return isSame(recorded, replayed) ? Optional.empty() : Optional.of(path + ": " + unequal(recorded, replayed));
    }

    private boolean isSame(Value recorded, Value replayed) {
        if (recorded.equals(replayed)) { // records compare floating-point numbers like Double.compare
            return true;
        } else if (recorded instanceof Value.Float one && replayed instanceof Value.Float other) {
            return closeness.isClose(one.value(), other.value());
        } else if (recorded instanceof Value.Complex one && replayed instanceof Value.Complex other) {
            return closeness.isClose(one.real(), one.imaginary(), other.real(), other.imaginary());
        }
        return false;
    }

    /** Describes the difference of values of one kind. */
    private static String unequal(Value recorded, Value replayed) {
        if (recorded instanceof Value.Text one && replayed instanceof Value.Text other) {
            return Excerpt.pair(one.value(), other.value());
        } else if (recorded instanceof Value.Binary one && replayed instanceof Value.Binary other) {
            return ContentComparison.bytes(one.value(), other.value());
        }
        return "recorded " + shown(recorded) + ", replayed " + shown(replayed);
    }

    private static String shown(Value value) {
        return ValueLine.of(value, Excerpt.MAX_CHARS);
    }

    /** Formats a value with its kind, such as {@code the int 3}. */
    private static String withKind(Value value) {
        if (value == Value.NONE) {
            return "None";
        } else if (value instanceof Value.Items) {
            return "the list " + shown(value);
        }
        String kind = value.getClass().getSimpleName().toLowerCase(Locale.ROOT).replaceFirst("^of", "");
        return "the " + kind + " " + shown(value);
    }

    private Optional<String> elements(String path, List<Value> recorded, List<Value> replayed) {
        if (recorded.size() != replayed.size()) {
            return Optional.of(path + ": length recorded " + recorded.size() + ", replayed " + replayed.size());
        }
        for (int i = 0; i < recorded.size(); i++) {
            Optional<String> difference = difference(path + "[" + i + "]", recorded.get(i), replayed.get(i));
            if (difference.isPresent()) {
                return difference;
            }
        }
        return Optional.empty();
    }

    private Optional<String> entries(String path, Value.Dict recorded, Value.Dict replayed) {
        for (Map.Entry<Value, Value> entry : recorded.entries().entrySet()) {
            Value other = replayed.entries().get(entry.getKey());
            String at = path + step(entry.getKey());
            Optional<String> difference = other == null
                    ? Optional.of(at + ": recorded " + shown(entry.getValue()) + ", replayed without this key")
                    : difference(at, entry.getValue(), other);
            if (difference.isPresent()) {
                return difference;
            }
        }
        return replayed.entries().entrySet().stream()
                .filter(entry -> !recorded.entries().containsKey(entry.getKey()))
                .findFirst()
                .map(entry -> path + step(entry.getKey()) + ": recorded without this key, replayed "
                        + shown(entry.getValue()));
    }

    private static String step(Value key) {
        return key instanceof Value.Text text && PLAIN_KEY.matcher(text.value()).matches()
                ? "." + Excerpt.cut(text.value())
                : "[" + shown(key) + "]";
    }

    private Optional<String> sparse(String path, SparseTensor recorded, SparseTensor replayed) {
        if (!Arrays.equals(recorded.sizes(), replayed.sizes())
                || recorded.isCoalesced() != replayed.isCoalesced()
                || recorded.elementCount() != replayed.elementCount()
                || recorded.dtype() != replayed.dtype()) {
            return Optional.of(
                    path + ": recorded " + ValueLine.kind(recorded) + ", replayed " + ValueLine.kind(replayed));
        }
        return tensors.difference(path + ".indices", recorded.indices(), replayed.indices())
                .or(() -> tensors.difference(path + ".values", recorded.values(), replayed.values()));
    }
}
