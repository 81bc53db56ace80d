package io.waybill.cli.select;

import io.waybill.cli.command.UsageException;
import io.waybill.cli.node.Quantities;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.zone.ZoneOffsetTransition;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parser of points in time: a duration before now, a time of today, a date, or both, with an offset or in the reader's
 * time zone. Accepts the format of the lists. Stateless.
 */
final class WrittenTime {

    private static final Pattern FORM = Pattern.compile(
            "(?:(\\d{4}-\\d{2}-\\d{2})(?:[T ](?=\\d)|$))?(?:(\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?) ?(Z|[+-]\\d{2}:\\d{2})?)?");

    private static final DateTimeFormatter SHOWN = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss", Locale.ROOT);

    private static final String FORMS =
            "a time is written 2026-11-20, 2026-11-20T08:00:30, 2026-11-20T08:00+01:00, 08:00 for today, or 10m for ten minutes ago";

    private WrittenTime() {}

    /**
     * Returns the wall clock time in nanoseconds since 1970.
     *
     * @param nowNs the present time in the same unit
     * @param zone time zone of a time without an offset
     */
    static long parse(String text, long nowNs, ZoneId zone) throws UsageException {
        if (!text.contains(":") && !text.contains("-")) {
            return before(text, nowNs);
        }
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw new UsageException(FORMS + ", not " + text);
        }
        try {
            return nanoseconds(instant(form, Instant.ofEpochSecond(0, nowNs), zone, text));
        } catch (DateTimeException | ArithmeticException e) {
            throw new UsageException(FORMS + ", not " + text + ": " + e.getMessage(), e);
        }
    }

    private static long before(String text, long nowNs) throws UsageException {
        try {
            return nowNs - Quantities.duration(text).toNanos();
        } catch (IllegalArgumentException e) {
            throw new UsageException(FORMS + ", not " + text, e);
        }
    }

    private static Instant instant(Matcher form, Instant now, ZoneId zone, String text) throws UsageException {
        String offset = form.group(3);
        ZoneId in = offset == null ? zone : ZoneOffset.of(offset);
        LocalDate date = form.group(1) == null ? now.atZone(in).toLocalDate() : LocalDate.parse(form.group(1));
        return form.group(2) == null
                ? date.atStartOfDay(in).toInstant()
                : instant(date.atTime(LocalTime.parse(form.group(2))), in, text);
    }

    /** Converts a local time, which must exist exactly once: a clock change skips some times, and repeats others. */
    private static Instant instant(LocalDateTime local, ZoneId zone, String text) throws UsageException {
        List<ZoneOffset> offsets = zone.getRules().getValidOffsets(local);
        if (offsets.size() == 1) {
            return local.toInstant(offsets.get(0));
        }
        ZoneOffsetTransition change = zone.getRules().getTransition(local);
        boolean isSkipped = offsets.isEmpty();
        throw new UsageException(
                text + (isSkipped ? " does not exist" : " is there twice") + " in " + zone + ": the clocks change from "
                        + SHOWN.format(change.getDateTimeBefore()) + " to " + SHOWN.format(change.getDateTimeAfter())
                        + "; give the offset: " + written(local, change.getOffsetBefore()) + " or "
                        + written(local, change.getOffsetAfter()));
    }

    private static String written(LocalDateTime local, ZoneOffset offset) {
        return SHOWN.format(local) + offset;
    }

    private static long nanoseconds(Instant instant) {
        return Math.addExact(Math.multiplyExact(instant.getEpochSecond(), 1_000_000_000L), instant.getNano());
    }
}
