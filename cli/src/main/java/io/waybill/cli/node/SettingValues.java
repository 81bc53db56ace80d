package io.waybill.cli.node;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;

/** The settings that a file gives, and the defaults of the others. Collects all mistakes. For one thread. */
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

    /** The parsed value of a setting; that of its default when it is not given, or can't be parsed. */
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

    /** Constructs settings that check their values together, of which the last one read names the area; null when they are wrong. */
    <T> T area(Supplier<T> constructor) {
        try {
            return constructor.get();
        } catch (IllegalArgumentException e) {
            wrong.add(area + ": " + e.getMessage());
            return null;
        }
    }

    /**
     * Fails if there is a mistake: of a value, or a key that doesn't exist.
     *
     * @throws IllegalArgumentException with all mistakes
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

    /** Says which settings there are in the area of one that doesn't exist, or which areas there are. */
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
