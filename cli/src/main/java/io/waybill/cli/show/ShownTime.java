package io.waybill.cli.show;

import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Locale;

/** Formats times for people. Stateless. */
public final class ShownTime {

    private static final long NS_PER_S = 1_000_000_000;
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSSxxx", Locale.ROOT);

    private static final DateTimeFormatter SECONDS = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ssxxx", Locale.ROOT);

    private static final DateTimeFormatter UTC = DateTimeFormatter.ofPattern(
                    "uuuu-MM-dd'T'HH:mm:ss.SSSSSS'Z'", Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    private ShownTime() {}

    /**
     * Formats a wall clock time in the reader's time zone, with its offset: {@code 2026-11-23 09:00:00.123456+01:00}.
     */
    public static String of(long wallNs) {
        Instant instant = Instant.ofEpochSecond(Math.floorDiv(wallNs, NS_PER_S), Math.floorMod(wallNs, NS_PER_S));
        return TIME.format(instant.atZone(ZoneId.systemDefault()));
    }

    /** Formats a time like {@link #of}, without fractions of a second. */
    public static String seconds(Instant time) {
        return SECONDS.format(time.truncatedTo(ChronoUnit.SECONDS).atZone(ZoneId.systemDefault()));
    }

    /** Formats like {@link #of}, without fractions of a second. */
    public static String seconds(long wallNs) {
        return SECONDS.format(
                Instant.ofEpochSecond(Math.floorDiv(wallNs, NS_PER_S)).atZone(ZoneId.systemDefault()));
    }

    /**
     * Formats a wall clock time for programs: ISO 8601, UTC, with six digits, such as
     * {@code 2026-11-23T08:00:00.123456Z}.
     */
    public static String utc(long wallNs) {
        return UTC.format(Instant.ofEpochSecond(Math.floorDiv(wallNs, NS_PER_S), Math.floorMod(wallNs, NS_PER_S)));
    }

    /** Formats a duration, such as {@code 12.3 us}. */
    public static String took(long ns) {
        if (Math.abs(ns) < 1_000_000) {
            return String.format(Locale.ROOT, "%.1f us", ns / 1e3);
        }
        return Math.abs(ns) < NS_PER_S
                ? String.format(Locale.ROOT, "%.1f ms", ns / 1e6)
                : String.format(Locale.ROOT, "%.2f s", ns / 1e9);
    }
}
