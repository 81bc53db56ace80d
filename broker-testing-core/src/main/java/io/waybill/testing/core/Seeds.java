package io.waybill.testing.core;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;

/**
 * Seeds of random tests. Each is printed, and {@code -Dwaybill.seed=N} repeats the test with that seed alone. Name the test
 * too, because the property is for all tests that run.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Seeds {

    /** The system property that replaces every seed. */
    public static final String PROPERTY = "waybill.seed";

    private Seeds() {}

    /** A new seed for each run. */
    public static long fresh() {
        return one(new Random().nextLong());
    }

    /** Random numbers from a new seed. */
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

    /** Returns the usual seeds, or the property's alone. For the arguments of a parameterized test. */
    public static LongStream each(long... usual) {
        return Long.getLong(PROPERTY) == null
                ? Arrays.stream(usual).peek(seed -> System.out.println("repeat with " + option(seed)))
                : LongStream.of(one(0));
    }

    /** Returns as many consecutive seeds as a test has rounds, or the property's alone. A failure names the seed. */
    public static LongStream count(long first, int rounds) {
        if (Long.getLong(PROPERTY) != null) {
            return LongStream.of(one(0));
        }
        System.out.println("seeds " + first + " to " + (first + rounds - 1) + "; repeat one with " + option(first));
        return LongStream.range(first, first + rounds);
    }

    /** The option that repeats a test, for its failure. */
    public static String option(long seed) {
        return "-D" + PROPERTY + "=" + seed;
    }
}
