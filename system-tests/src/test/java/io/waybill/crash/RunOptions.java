package io.waybill.crash;

import io.waybill.testing.core.Seeds;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * What a run does. Immutable.
 *
 * @param faults how many times something is done to somebody
 * @param pattern who calls whom
 * @param faultsPerHome after so many the home is judged, and a new one begins
 * @param rate calls per second of all callers together
 * @param point where a process kills itself; empty: the run kills it at random moments; {@code all}: each in turn
 * @param mutant the bug that is planted in every process; empty for none
 * @param bundled whether the server's handlers come with a bundle that is updated again and again
 * @param directory where homes and logs go; what is clean is removed
 */
record RunOptions(
        Fault fault,
        Who who,
        Pattern pattern,
        int faults,
        int faultsPerHome,
        int callers,
        int rate,
        int maxPauseMs,
        String point,
        String mutant,
        boolean bundled,
        long seed,
        Path directory) {

    /** The value of {@code --point} that means each in turn. */
    static final String ALL = "all";

    private static final Set<String> NAMES = Set.of(
            "fault",
            "who",
            "pattern",
            "kills",
            "kills-per-home",
            "callers",
            "rate",
            "pause-most-ms",
            "point",
            "mutant",
            "bundled",
            "seed",
            "directory");

    /** What is done. */
    enum Fault {
        KILL,
        PAUSE,
        FULL
    }

    /** Who calls whom. */
    enum Pattern {
        /** The callers call one server. */
        STAR,
        /** The callers serve, too, and call each other and themselves. */
        ALL
    }

    /** To whom. With {@link Pattern#ALL}, {@code BOTH} is two workers and the others are one. */
    enum Who {
        CALLEE,
        CALLER,
        BOTH,
        /** One of these, drawn each time. */
        ANY
    }

    /** @param arguments as {@code --kills 200}; what is left out has a default */
    static RunOptions parse(String[] arguments, Path directory) {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i < arguments.length; i += 2) {
            String name = arguments[i].startsWith("--") ? arguments[i].substring(2) : "";
            if (!NAMES.contains(name) || i + 1 == arguments.length) {
                throw new IllegalArgumentException("expected one of " + NAMES + " with a value, found " + arguments[i]);
            }
            given.put(name, arguments[i + 1]);
        }
        return new RunOptions(
                Fault.valueOf(given.getOrDefault("fault", "kill").toUpperCase(Locale.ROOT)),
                Who.valueOf(given.getOrDefault("who", "any").toUpperCase(Locale.ROOT)),
                Pattern.valueOf(given.getOrDefault("pattern", "star").toUpperCase(Locale.ROOT)),
                number(given, "kills", 200),
                number(given, "kills-per-home", 20),
                number(given, "callers", 2),
                number(given, "rate", 20_000),
                number(given, "pause-most-ms", 30_000),
                given.getOrDefault("point", ""),
                given.getOrDefault("mutant", ""),
                Boolean.parseBoolean(given.get("bundled")),
                given.containsKey("seed") ? Long.parseLong(given.get("seed")) : Seeds.fresh(),
                given.containsKey("directory") ? Path.of(given.get("directory")) : directory);
    }

    private static int number(Map<String, String> given, String name, int otherwise) {
        return given.containsKey(name) ? Integer.parseInt(given.get(name)) : otherwise;
    }

    @Override
    public String toString() {
        return String.format(
                "--fault %s --who %s --pattern %s --kills %d --kills-per-home %d --callers %d --rate %d --pause-most-ms %d --seed %d%s%s%s",
                name(fault),
                name(who),
                name(pattern),
                faults,
                faultsPerHome,
                callers,
                rate,
                maxPauseMs,
                seed,
                point.isEmpty() ? "" : " --point " + point,
                mutant.isEmpty() ? "" : " --mutant " + mutant,
                bundled ? " --bundled true" : "");
    }

    private static String name(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
