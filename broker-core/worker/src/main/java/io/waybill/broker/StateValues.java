package io.waybill.broker;

import io.waybill.api.Value;
import io.waybill.api.state.StateStore;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Values that a state may hold, as copies that share no array with the owner, and their estimated size. Stateless. */
final class StateValues {

    /** Size of a record and its reference. */
    private static final long OBJECT_BYTES = 24;

    /** Size of an entry: its map's node, and the entry itself. */
    private static final long ENTRY_BYTES = 112;

    private StateValues() {}

    /**
     * Copies a value.
     *
     * @throws IllegalArgumentException when it holds a tensor or a reference, or is too deep
     */
    static Value copy(Value value) {
        return copy(value, 0);
    }

    private static Value copy(Value value, int depth) {
        if (depth > StateStore.MAX_DEPTH) {
            throw new IllegalArgumentException(
                    "a state holds values of at most " + StateStore.MAX_DEPTH + " levels, and this one has more");
        }
        if (value instanceof Value.Binary binary) {
            return Value.of(binary.value());
        }
        if (value instanceof Value.Items items) {
            return new Value.Items(copies(items.values(), depth));
        }
        if (value instanceof Value.Tuple tuple) {
            return new Value.Tuple(copies(tuple.values(), depth));
        }
        if (value instanceof Value.Dict dict) {
            Map<Value, Value> entries = new LinkedHashMap<>();
            dict.entries().forEach((key, each) -> entries.put(copy(key, depth + 1), copy(each, depth + 1)));
            return new Value.Dict(entries);
        }
        if (value instanceof Value.OfTensor || value instanceof Value.OfSparse || value instanceof Value.OfRRef) {
            throw new IllegalArgumentException(
                    "a state holds numbers, texts, bytes, lists, tuples, dicts, devices and dtypes,"
                            + " and this value has a "
                            + value.getClass().getSimpleName().substring(2)
                            + "; keep a tensor behind a reference of the handler's, or its bytes");
        }
        return value; // immutable
    }

    private static List<Value> copies(List<Value> values, int depth) {
        List<Value> copies = new ArrayList<>(values.size());
        values.forEach(each -> copies.add(copy(each, depth + 1)));
        return copies;
    }

    static long bytes(String key, Value value) {
        return ENTRY_BYTES + bytes(key) + bytes(value);
    }

    private static long bytes(String text) {
        return OBJECT_BYTES + 2L * text.length();
    }

    private static long bytes(Value value) {
        long bytes = OBJECT_BYTES;
        if (value instanceof Value.Text text) {
            bytes += bytes(text.value());
        } else if (value instanceof Value.Binary binary) {
            bytes += OBJECT_BYTES + binary.value().length;
        } else if (value instanceof Value.Items items) {
            bytes += bytes(items.values());
        } else if (value instanceof Value.Tuple tuple) {
            bytes += bytes(tuple.values());
        } else if (value instanceof Value.Dict dict) {
            for (Map.Entry<Value, Value> each : dict.entries().entrySet()) {
                bytes += 2 * OBJECT_BYTES + bytes(each.getKey()) + bytes(each.getValue());
            }
        }
        return bytes;
    }

    private static long bytes(List<Value> values) {
        long bytes = OBJECT_BYTES;
        for (Value each : values) {
            bytes += 8 + bytes(each);
        }
        return bytes;
    }
}
