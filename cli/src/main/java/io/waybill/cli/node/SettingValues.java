package io.waybill.cli.node;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;

/** The settings that a file gives, and the defaults of the others. Collects all mistakes. For one thread. */
final class SettingValues {

    private final Map<String, String> given;
    private final List<String> wrong = new ArrayList<>();

    SettingValues(Map<String, String> given) {
        this.given = given;
    }

    Duration time(String key) {
        return value(key, Quantities::duration);
    }

    long size(String key) {
        return value(key, Quantities::bytes);
    }

    int count(String key) {
        return value(key, Integer::parseInt);
    }

    <E extends Enum<E>> E choice(String key, Class<E> type) {
        return value(key, text -> Quantities.choice(type, text));
    }

    /** The parsed value of a setting; that of its default when it is not given, or can't be parsed. */
    <T> T value(String key, Function<String, T> parser) {
        String fallback = SettingTable.DEFAULTS.get(key);
        String text = given.getOrDefault(key, fallback);
        try {
            return parser.apply(text);
        } catch (NumberFormatException e) {
            wrong.add(key + " must be a whole number: " + text);
        } catch (IllegalArgumentException e) {
            wrong.add(key + ": " + e.getMessage());
        }
        return parser.apply(fallback);
    }

    /** Constructs the settings of an area, which check their values themselves. */
    <T> T area(String area, T fallback, Supplier<T> constructor) {
        try {
            return constructor.get();
        } catch (IllegalArgumentException e) {
            wrong.add(area + ": " + e.getMessage());
            return fallback;
        }
    }

    /** Fails with all mistakes: of values, and keys that don't exist. */
    void requireCorrect() {
        for (String key : new TreeSet<>(given.keySet())) {
            if (!SettingTable.DEFAULTS.containsKey(key)) {
                wrong.add("there is no setting " + key + "; there are "
                        + String.join(", ", new TreeSet<>(SettingTable.DEFAULTS.keySet())));
            }
        }
        if (!wrong.isEmpty()) {
            throw new IllegalArgumentException(String.join("; ", wrong));
        }
    }
}
