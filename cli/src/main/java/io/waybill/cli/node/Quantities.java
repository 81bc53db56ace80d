package io.waybill.cli.node;

import io.waybill.osgi.jar.ShippedBundles;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Parses durations, sizes and choices of options and settings. Stateless. All methods throw
 * {@link IllegalArgumentException} with the expected form.
 */
public final class Quantities {

    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9}(?:\\.[0-9]{1,9})?)(us|ms|s|m|h|d)");
    private static final Map<String, Long> UNITS_NS = Map.of(
            "us", 1_000L,
            "ms", 1_000_000L,
            "s", 1_000_000_000L,
            "m", 60_000_000_000L,
            "h", 3_600_000_000_000L,
            "d", 86_400_000_000_000L);
    private static final Pattern BYTES = Pattern.compile("([0-9]{1,18})(|KiB|MiB|GiB|TiB)");

    private static final Pattern SHARE = Pattern.compile("([1-9][0-9]?|100)%");

    private static final Pattern SYMBOLIC_NAME = Pattern.compile("[A-Za-z0-9_.-]{1,200}");

    private Quantities() {}

    /** Parses a duration: {@code 500ms}, {@code 1.5s}, {@code 2m}; only {@code 0} needs no unit. */
    public static Duration duration(String text) {
        if (text.equals("0")) {
            return Duration.ZERO;
        }
        Matcher form = DURATION.matcher(text);
        if (!form.matches()) {
            throw new IllegalArgumentException(
                    "a time is a number with us, ms, s, m, h or d, such as 500ms: '" + text + "'");
        }
        return Duration.ofNanos(Math.round(Double.parseDouble(form.group(1)) * UNITS_NS.get(form.group(2))));
    }

    /** Parses a size: {@code 4096}, {@code 64MiB}, {@code 1GiB}. */
    public static long bytes(String text) {
        Matcher form = BYTES.matcher(text);
        if (!form.matches()) {
            throw new IllegalArgumentException("a size is a number with nothing, KiB, MiB, GiB or TiB: '" + text + "'");
        }
        int shift = 10 * ("KMGT".indexOf((form.group(2) + "?").charAt(0)) + 1);
        try {
            return Math.multiplyExact(Long.parseLong(form.group(1)), 1L << shift);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("a size is below 2^63 bytes: '" + text + "'", e);
        }
    }

    /** Parses a size like {@link #bytes}, or a share of a total: {@code 50%}. */
    static long bytesOrShare(String text, long all) {
        Matcher form = SHARE.matcher(text);
        return form.matches() ? all * Integer.parseInt(form.group(1)) / 100 : bytes(text);
    }

    /** Parses a selection of bundles: {@code all}, {@code none}, or symbolic names separated by commas. */
    public static ShippedBundles shipped(String text) {
        if (text.equals("all")) {
            return ShippedBundles.ALL;
        }
        Set<String> names = new LinkedHashSet<>();
        for (String name : text.equals("none") ? new String[0] : text.split("\\s*,\\s*", -1)) {
            if (!SYMBOLIC_NAME.matcher(name).matches()) {
                throw new IllegalArgumentException(
                        "expected all, none, or symbolic names of bundles with commas between, found '" + text + "'");
            }
            names.add(name);
        }
        return ShippedBundles.named(names);
    }

    /** Formats a choice. */
    public static String written(Enum<?> choice) {
        return choice.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Parses one of the constants, as formatted by {@link #written}. */
    public static <E extends Enum<E>> E choice(Class<E> type, String text) {
        for (E choice : type.getEnumConstants()) {
            if (written(choice).equals(text)) {
                return choice;
            }
        }
        throw new IllegalArgumentException("expected one of "
                + Arrays.stream(type.getEnumConstants())
                        .map(Quantities::written)
                        .collect(Collectors.joining(", "))
                + ", found '" + text + "'");
    }
}
