package io.waybill.testing.core;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;

/**
 * Seeds of random tests. Each is printed, and {@code -Dwaybill.seed=N} repeats the test with only that seed. Name the
 * test, too, because the property applies to all tests of the run.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Seeds {

    /** System property that replaces every seed. */
    public static final String PROPERTY = "waybill.seed";

    private Seeds() {}

    /** Returns a new seed for each run. */
    public static long fresh() {
        return one(new Random().nextLong());
    }

    /** Returns random numbers from a new seed. */
    public static Random random() {
        return new Random(fresh());
    }

    /** Returns the usual seed, unless the property sets another one. */
    public static long one(long usual) {
        Long asked = Long.getLong(PROPERTY);
        long seed = asked == null ? usual : asked;
        System.out.println("repeat with " + option(seed));
        return seed;
    }

    /** Returns the usual seeds, or only the property's. For the arguments of a parameterized test. */
    public static LongStream each(long... usual) {
        return Long.getLong(PROPERTY) == null
                ? Arrays.stream(usual).peek(seed -> System.out.println("repeat with " + option(seed)))
                : LongStream.of(one(0));
    }

    /** Returns as many consecutive seeds as a test has rounds, or only the property's. A failure names the seed. */
    public static LongStream count(long first, int rounds) {
        if (Long.getLong(PROPERTY) != null) {
            return LongStream.of(one(0));
        }
        System.out.println("seeds " + first + " to " + (first + rounds - 1) + "; repeat one with " + option(first));
        return LongStream.range(first, first + rounds);
    }

    /** Returns the option that repeats a test, for the text of a failure. */
    public static String option(long seed) {
        return "-D" + PROPERTY + "=" + seed;
    }
}
