package io.waybill.osgi.guard;

import io.waybill.osgi.guard.CallRewriting.Call;
import java.util.Map;
import java.util.Set;

/** The methods and constructors of Java's own classes that read the time or draw random numbers from outside. */
final class UnrecordedSource {

    private static final String CONSTRUCTOR = "<init>";

    /** Sources that count with any arguments. */
    private static final Map<String, Set<String>> ALWAYS = Map.ofEntries(
            Map.entry("java/lang/System", Set.of("currentTimeMillis", "nanoTime")),
            Map.entry("java/lang/Math", Set.of("random")),
            Map.entry("java/lang/StrictMath", Set.of("random")),
            Map.entry(
                    "java/time/Clock",
                    Set.of("system", "systemUTC", "systemDefaultZone", "tickMillis", "tickSeconds", "tickMinutes")),
            Map.entry("java/time/InstantSource", Set.of("system")),
            Map.entry("java/util/Calendar", Set.of("getInstance")),
            Map.entry("java/util/GregorianCalendar", Set.of("getInstance")),
            Map.entry("java/util/UUID", Set.of("randomUUID")),
            Map.entry("java/util/concurrent/ThreadLocalRandom", Set.of("current")),
            Map.entry("java/security/SecureRandom", Set.of(CONSTRUCTOR, "getInstance", "getInstanceStrong", "getSeed")),
            Map.entry("java/util/random/RandomGenerator", Set.of("getDefault", "of")),
            Map.entry("java/util/random/RandomGenerator$SplittableGenerator", Set.of("of")),
            Map.entry("java/util/random/RandomGenerator$StreamableGenerator", Set.of("of")),
            Map.entry("java/util/random/RandomGenerator$JumpableGenerator", Set.of("of")),
            Map.entry("java/util/random/RandomGenerator$LeapableGenerator", Set.of("of")),
            Map.entry("java/util/random/RandomGenerator$ArbitrarilyJumpableGenerator", Set.of("of")));

    /** Methods that count only without arguments; with an argument they receive the time or a seed. */
    private static final Map<String, Set<String>> WITHOUT_ARGUMENT = Map.of(
            "java/util/Date", Set.of(CONSTRUCTOR),
            "java/util/Random", Set.of(CONSTRUCTOR),
            "java/util/SplittableRandom", Set.of(CONSTRUCTOR),
            "java/util/random/RandomGeneratorFactory", Set.of("create"));

    private UnrecordedSource() {}

    static boolean isCalled(Call call) {
        return contains(ALWAYS, call)
                || call.descriptor().startsWith("()") && contains(WITHOUT_ARGUMENT, call)
                || isNow(call)
                || isShuffle(call)
                || isCalendar(call);
    }

    private static boolean contains(Map<String, Set<String>> methods, Call call) {
        return methods.getOrDefault(call.owner(), Set.of()).contains(call.name());
    }

    /** Returns whether a call of java.time reads the clock: true unless it receives one. */
    private static boolean isNow(Call call) {
        return call.name().equals("now")
                && call.owner().startsWith("java/time/")
                && !call.descriptor().startsWith("(Ljava/time/Clock;)");
    }

    /** Returns whether a shuffle draws random numbers: true unless it receives a generator. */
    private static boolean isShuffle(Call call) {
        return call.name().equals("shuffle")
                && call.owner().equals("java/util/Collections")
                && call.descriptor().equals("(Ljava/util/List;)V");
    }

    /** Returns whether a calendar reads the clock: true unless it receives a date, as ints. */
    private static boolean isCalendar(Call call) {
        return call.name().equals(CONSTRUCTOR)
                && call.owner().equals("java/util/GregorianCalendar")
                && !call.descriptor().contains("I");
    }

    /** Formats the source for a report. */
    static String text(String owner, String name) {
        String simple = owner.substring(owner.lastIndexOf('/') + 1).replace('$', '.');
        return name.equals(CONSTRUCTOR) ? "new " + simple + "()" : simple + "." + name + "()";
    }
}
