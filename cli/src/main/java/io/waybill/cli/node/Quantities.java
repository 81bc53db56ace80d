package io.waybill.cli.node;

import io.waybill.archive.ArchiveOverflow;
import io.waybill.archive.ArchivePolicy;
import io.waybill.journal.Durability;
import io.waybill.osgi.ShippedBundles;
import io.waybill.rref.Keeping;
import io.waybill.worker.peer.Overflow;
import io.waybill.worker.poll.Waiting;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Reads times, sizes and choices as people write them. Stateless. All throw {@link IllegalArgumentException} with the form expected. */
public final class Quantities {

    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9}(?:\\.[0-9]{1,9})?)(us|ms|s|m|h)");
    private static final Pattern BYTES = Pattern.compile("([0-9]{1,18})(|KiB|MiB|GiB|TiB)");

    private static final Pattern SYMBOLIC_NAME = Pattern.compile("[A-Za-z0-9_.-]{1,200}");

    private Quantities() {}

    /** {@code 500ms}, {@code 1.5s}, {@code 2m}; {@code 0} alone needs no unit. */
    public static Duration duration(String text) {
        if (text.equals("0")) {
            return Duration.ZERO;
        }
        Matcher form = DURATION.matcher(text);
        if (!form.matches()) {
            throw new IllegalArgumentException(
                    "a time is a number with us, ms, s, m or h, such as 500ms: '" + text + "'");
        }
        return Duration.ofNanos(Math.round(Double.parseDouble(form.group(1)) * unitNs(form.group(2))));
    }

    private static long unitNs(String unit) {
        switch (unit) {
            case "us":
                return 1_000;
            case "ms":
                return 1_000_000;
            case "s":
                return 1_000_000_000;
            case "m":
                return 60_000_000_000L;
            default:
                return 3_600_000_000_000L;
        }
    }

    /** {@code 4096}, {@code 64MiB}, {@code 1GiB}. */
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

    /** {@code spin}, {@code balanced}, {@code low-cpu}. */
    public static Waiting waiting(String text) {
        return choice(Waiting.class, text);
    }

    /** {@code wait}, {@code refuse}. */
    public static Overflow overflow(String text) {
        return choice(Overflow.class, text);
    }

    /** {@code process}, {@code interval}, {@code each}. */
    public static Durability durability(String text) {
        return choice(Durability.class, text);
    }

    /** {@code none}, {@code all}, {@code up-to}. */
    public static ArchivePolicy archivePolicy(String text) {
        return choice(ArchivePolicy.class, text);
    }

    /** {@code drop}, {@code wait}. */
    public static ArchiveOverflow archiveOverflow(String text) {
        return choice(ArchiveOverflow.class, text);
    }

    /** {@code on-request}, {@code all}. */
    public static Keeping keeping(String text) {
        return choice(Keeping.class, text);
    }

    /** {@code all}, {@code none}, or symbolic names with commas between. */
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

    /** How a choice is written. */
    public static String written(Enum<?> choice) {
        return choice.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static <E extends Enum<E>> E choice(Class<E> type, String text) {
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
