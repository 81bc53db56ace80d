package io.waybill.bench.measure;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Named numbers, in the order in which they were put. */
public final class Figures {

    private final Map<String, Object> values = new LinkedHashMap<>();

    public Figures put(String name, long value) {
        values.put(name, value);
        return this;
    }

    /** Rounded to three places. */
    public Figures put(String name, double value) {
        values.put(name, Math.round(value * 1000) / 1000.0);
        return this;
    }

    public Figures put(String name, String value) {
        values.put(name, value);
        return this;
    }

    /** A choice, as the command line writes it: {@code low-cpu}. */
    public Figures putChoice(String name, String constant) {
        return put(name, constant.toLowerCase(Locale.ROOT).replace('_', '-'));
    }

    public Figures put(String name, List<Figures> rows) {
        values.put(name, rows.stream().map(Figures::values).toList());
        return this;
    }

    public long integer(String name) {
        return ((Number) require(name)).longValue();
    }

    public String text(String name) {
        return require(name).toString();
    }

    public double number(String name) {
        return ((Number) require(name)).doubleValue();
    }

    private Object require(String name) {
        Object value = values.get(name);
        if (value == null) {
            throw new IllegalStateException("no figure named " + name + " among " + values.keySet());
        }
        return value;
    }

    /** Name to a {@link Number}, {@link String} or list of such maps. */
    public Map<String, Object> values() {
        return Collections.unmodifiableMap(values);
    }

    /** {@code name=value} pairs on one line, numbers and strings only: how a child process reports. */
    public String line() {
        StringBuilder line = new StringBuilder();
        values.forEach(
                (name, value) -> line.append(name).append('=').append(value).append(' '));
        return line.toString().trim();
    }

    public static Figures parse(String line) {
        Figures figures = new Figures();
        for (String pair : line.trim().split(" ")) {
            int equals = pair.indexOf('=');
            String value = pair.substring(equals + 1);
            if (value.matches("-?\\d+")) {
                figures.put(pair.substring(0, equals), Long.parseLong(value));
            } else if (value.matches("-?\\d+\\.\\d+(E\\d+)?")) {
                figures.put(pair.substring(0, equals), Double.parseDouble(value));
            } else {
                figures.put(pair.substring(0, equals), value);
            }
        }
        return figures;
    }

    /** Puts the middle of each figure of an odd number of rounds, under its name behind a prefix. */
    public static void putMedians(Figures figures, String prefix, List<Figures> rounds) {
        putMedians(figures, prefix, rounds, rounds.get(0).values().keySet());
    }

    /** Puts the middle of each of these figures, under its name behind a prefix. */
    public static void putMedians(Figures figures, String prefix, List<Figures> rounds, Collection<String> names) {
        for (String name : names) {
            if (rounds.get(0).values().get(name) instanceof Double) {
                figures.put(
                        prefix + name,
                        median(rounds.stream()
                                .mapToDouble(round -> round.number(name))
                                .toArray()));
            } else {
                figures.put(prefix + name, median(rounds, name));
            }
        }
    }

    /** The middle of one figure of an odd number of rounds. */
    public static long median(List<Figures> rounds, String name) {
        return median(rounds.stream().mapToLong(round -> round.integer(name)).toArray());
    }

    /** The middle of an odd number of values. */
    public static long median(long... values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    public static double median(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
