package io.waybill.cli.node;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;

/** Settings of a file, with the defaults of all others. Collects all errors. For one thread. */
final class SettingValues {

    private final Map<String, String> given;
    private final Map<String, String> defaults = NodeSettings.TABLE.pairs(3);
    private final List<String> wrong = new ArrayList<>();
    private String area = "";

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

    /** Returns the parsed value of a setting; the default if it is absent or can't be parsed. */
    <T> T value(String key, Function<String, T> parser) {
        area = areaOf(key);
        String fallback = Objects.requireNonNull(defaults.get(key), key);
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

    /**
     * Constructs an area of settings that validates its values together, named by the last setting that was read; null
     * if they are invalid.
     */
    <T> T area(Supplier<T> constructor) {
        try {
            return constructor.get();
        } catch (IllegalArgumentException e) {
            wrong.add(area + ": " + e.getMessage());
            return null;
        }
    }

    /**
     * Fails if there was an error in a value, or an unknown key.
     *
     * @throws IllegalArgumentException with all errors
     */
    void requireCorrect() {
        for (String key : new TreeSet<>(given.keySet())) {
            if (!defaults.containsKey(key)) {
                wrong.add("there is no setting " + key + thereAre(key));
            }
        }
        if (!wrong.isEmpty()) {
            throw new IllegalArgumentException(String.join("; ", wrong));
        }
    }

    /** Lists the settings in the area of an unknown one, or the areas. */
    private String thereAre(String key) {
        String begin = areaOf(key) + ".";
        List<String> near = new TreeSet<>(defaults.keySet())
                .stream().filter(each -> each.startsWith(begin)).toList();
        if (!near.isEmpty()) {
            return "; there are " + String.join(", ", near);
        }
        List<String> areas = new TreeSet<>(defaults.keySet())
                .stream().map(each -> areaOf(each) + ".").distinct().toList();
        return "; settings begin with " + String.join(", ", areas);
    }

    private static String areaOf(String key) {
        return key.substring(0, Math.max(0, key.indexOf('.')));
    }
}
