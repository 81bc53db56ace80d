package io.waybill.journal;

import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.Set;
import net.openhft.chronicle.queue.RollCycle;
import net.openhft.chronicle.queue.RollCycles;
import net.openhft.chronicle.queue.rollcycles.LargeRollCycles;
import net.openhft.chronicle.queue.rollcycles.LegacyRollCycles;

/**
 * Roll cycle: names of a queue's files, and the max time that each is written; a file that reaches its size limit ends
 * earlier. The same for all workers of a home.
 */
public enum Roll {
    /** Every day at midnight UTC; up to 137 billion records a file. */
    DAILY(LargeRollCycles.LARGE_DAILY, Duration.ofDays(1), 10_000),
    /** Every hour; up to 4 billion records a file. */
    HOURLY(RollCycles.FAST_HOURLY, Duration.ofHours(1), 10_000),
    /** Every five minutes; up to 1 billion records a file. */
    FIVE_MINUTELY(RollCycles.FIVE_MINUTELY, Duration.ofMinutes(5), 10_000),
    /** Every hour, named by the minute, so that a full file may end at any minute; up to 67 million records a file. */
    MINUTELY(LegacyRollCycles.MINUTELY, Duration.ofHours(1), 1_000_000);

    /** Suffix of a queue's files, after their time. */
    public static final String FILE_SUFFIX = ".cq4";

    private static final long HEADERS_BYTES = 64 << 10;

    private final RollCycle cycle;
    private final long spanMs;
    private final int maxNumbers;
    private final DateTimeFormatter name;
    private final String firstName;
    private volatile Numbered last =
            new Numbered("", OptionalInt.empty()); // for any thread; many queues of a home have a file of the same name

    private record Numbered(String fileName, OptionalInt number) {}

    Roll(RollCycle cycle, Duration span, int maxNumbers) {
        this.cycle = cycle;
        this.spanMs = span.toMillis();
        this.maxNumbers = maxNumbers;
        this.name = DateTimeFormatter.ofPattern(cycle.format(), Locale.ROOT).withZone(ZoneOffset.UTC);
        this.firstName = fileName(0);
    }

    /**
     * Returns the roll with this name.
     *
     * @throws IllegalArgumentException that lists the existing names
     */
    public static Roll named(String name) {
        for (Roll roll : values()) {
            if (roll.name().equals(name)) {
                return roll;
            }
        }
        throw new IllegalArgumentException("a roll cycle is one of " + Arrays.toString(values()) + ": " + name);
    }

    public static Roll of(RollCycle cycle) {
        for (Roll roll : values()) {
            if (roll.cycle == cycle) {
                return roll;
            }
        }
        throw new IllegalArgumentException("a roll cycle is one of " + Arrays.toString(values()) + ": " + cycle);
    }

    /** Returns the roll cycles by which the files of a queue are named. */
    public static Set<Roll> of(Path queueDirectory, SafeFiles files) throws IOException {
        Set<Roll> rolls = EnumSet.noneOf(Roll.class);
        try {
            RollFile.in(queueDirectory, files).forEach(file -> rolls.add(file.roll()));
        } catch (NoSuchFileException e) {
            // nothing was written
        }
        return rolls;
    }

    /**
     * Returns the max size that Chronicle may write to a file in addition to a record: two pages of its index, and
     * their headers.
     */
    public long indexBytes() {
        return 2L * Long.BYTES * cycle.defaultIndexCount() + HEADERS_BYTES;
    }

    public RollCycle cycle() {
        return cycle;
    }

    /**
     * Returns the max distance between the numbers of a queue's files: Chronicle searches each number in between. More
     * than a year, except for days.
     */
    public int maxNumbers() {
        return maxNumbers;
    }

    /** Returns the time until which a file of this number is written, in milliseconds since 1970. */
    public long endMs(int number) {
        return (startMs(number) / spanMs + 1) * spanMs;
    }

    /** Returns the number of a file that begins at this time, in milliseconds since 1970. */
    public int numberAt(long ms) {
        return (int) (ms / cycle.lengthInMillis());
    }

    /**
     * Returns the time until which a file of this number is written that is begun at this time, which may be later than
     * its name says, in milliseconds since 1970.
     */
    public long endMs(int number, long ms) {
        return Math.max(endMs(number), (ms / spanMs + 1) * spanMs);
    }

    /** Returns the number of a queue's first file, begun at this time. */
    public int firstNumber(long ms) {
        return Math.max(0, numberAt(ms));
    }

    /**
     * Returns the number of a queue's next file.
     *
     * @param firstIndex index at which the queue begins; {@link Long#MAX_VALUE} when it has no file
     * @param newest number of its newest file; {@link Integer#MIN_VALUE} when it has none
     * @param ms present time, in milliseconds since 1970
     */
    public int next(long firstIndex, int newest, long ms) {
        if (newest == Integer.MIN_VALUE) {
            return firstNumber(ms);
        }
        return numberAfter(firstIndex == Long.MAX_VALUE ? newest : Math.min(newest, cycleOf(firstIndex)), newest, ms);
    }

    /**
     * Returns the number of the file that comes after a queue's other files: the number of the present time. If the
     * clock was set back since the newest file, or is so far ahead of the oldest one that most of {@link #maxNumbers}
     * would lie between them, it is the next number.
     *
     * @param ms present time, in milliseconds since 1970
     */
    public int numberAfter(int oldest, int newest, long ms) {
        long now = ms / cycle.lengthInMillis();
        return now > newest && now - oldest <= maxNumbers / 2 ? (int) now : newest + 1;
    }

    /** Returns the time at which a file of this number begins, in milliseconds since 1970. */
    public long startMs(int number) {
        return (long) number * cycle.lengthInMillis();
    }

    /** Returns the name of the file with this number. */
    public String fileName(int number) {
        return name.format(Instant.ofEpochMilli(startMs(number))) + FILE_SUFFIX;
    }

    /** Returns the number of the file with this name; empty when it has none of this cycle. */
    public OptionalInt numberOf(String fileName) {
        if (!hasForm(fileName)) { // an exception for each name of another cycle takes longer than the rest
            return OptionalInt.empty();
        }
        Numbered known = last;
        if (!known.fileName.equals(fileName)) {
            known = new Numbered(fileName, parse(fileName));
            last = known;
        }
        return known.number;
    }

    private OptionalInt parse(String fileName) {
        try {
            TemporalAccessor time = name.parse(fileName.substring(0, fileName.length() - FILE_SUFFIX.length()));
            LocalDate date = time.query(TemporalQueries.localDate());
            if (date == null) {
                return OptionalInt.empty();
            }
            LocalTime at = time.query(TemporalQueries.localTime());
            long ms = date.atTime(at == null ? LocalTime.MIDNIGHT : at)
                    .toInstant(ZoneOffset.UTC)
                    .toEpochMilli();
            long number = ms / cycle.lengthInMillis();
            boolean ours = ms >= 0
                    && number <= Integer.MAX_VALUE
                    && fileName((int) number).equals(fileName);
            return ours ? OptionalInt.of((int) number) : OptionalInt.empty();
        } catch (DateTimeParseException e) {
            return OptionalInt.empty();
        }
    }

    private boolean hasForm(String fileName) {
        boolean same = fileName.length() == firstName.length();
        for (int i = 0; same && i < firstName.length(); i++) {
            char expected = firstName.charAt(i);
            char found = fileName.charAt(i);
            same = isDigit(expected) ? isDigit(found) : found == expected;
        }
        return same;
    }

    private static boolean isDigit(char character) {
        return character >= '0' && character <= '9';
    }

    /** Returns the number of the file with the record at this index. */
    public int cycleOf(long index) {
        return cycle.toCycle(index);
    }

    /** Returns the index of the record with this number in the file. */
    public long indexOf(int number, long sequenceInFile) {
        return cycle.toIndex(number, sequenceInFile);
    }

    /** Returns the number of the record in its file. */
    public long sequenceInFile(long index) {
        return cycle.toSequenceNumber(index);
    }
}
