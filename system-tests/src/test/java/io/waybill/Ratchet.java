package io.waybill;

import io.waybill.SourceSizes.Sized;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** The sizes of main code that may fall and not rise, and their comparison with those that are checked in. Immutable. */
final class Ratchet {

    /** Parameters that a method may have without being counted. */
    static final int MAX_PARAMETERS = 5;

    private static final int PERCENT = 90;
    private static final int MAX_NAMED = 20;

    private static final String HEADER = """
            # How large main code may be. SizesTest fails when a value rises, and asks for the new one when it has fallen.
            # p90: nine of ten are as large or smaller. docs/adr/0159-sizes-are-ratchets.md says why.
            """;

    private final List<Value> values;

    /**
     * A size of all code.
     *
     * @param text with the value in it
     * @param slack by how much it may be lower than the checked-in one
     * @param parts that were measured
     */
    private record Value(String key, String text, int slack, int now, List<Sized> parts) {}

    Ratchet(SourceSizes sizes) {
        List<Sized> methods = sizes.methods();
        List<Sized> above = methods.stream()
                .filter(method -> method.size() > MAX_PARAMETERS)
                .toList();
        values = List.of(
                new Value("file.lines.p90", "p90 of files is %d lines", 5, p90(sizes.files()), sizes.files()),
                new Value(
                        "package.types.p90", "p90 of packages is %d types", 1, p90(sizes.packages()), sizes.packages()),
                new Value("method.parameters.p90", "p90 of methods is %d parameters", 0, p90(methods), methods),
                new Value(
                        "methods.above." + MAX_PARAMETERS + ".parameters",
                        "methods of more than " + MAX_PARAMETERS + " parameters are %d",
                        2,
                        above.size(),
                        above));
    }

    /** Returns the file with the values of now. */
    String text() {
        return HEADER
                + values.stream()
                        .map(value -> value.key() + "=" + value.now() + "\n")
                        .collect(Collectors.joining());
    }

    /**
     * Returns a line for each value that is above the checked-in one, or so far below it that it should be written.
     *
     * @param changed whether a path has changed since the values were written; always false when that is not known
     */
    List<String> problems(Properties checkedIn, Predicate<String> changed) {
        List<String> problems = new ArrayList<>();
        for (Value value : values) {
            int max = Integer.parseInt(checkedIn.getProperty(value.key()));
            String now = value.text().formatted(value.now()) + ", ";
            if (value.now() > max) {
                problems.add(now + "at most " + max + "; " + largest(value.parts(), changed));
            } else if (value.now() < max - value.slack()) {
                problems.add(now + "and may still be " + max + ": write the new value");
            }
        }
        return problems;
    }

    private static String largest(List<Sized> parts, Predicate<String> changed) {
        List<Sized> those =
                parts.stream().filter(part -> changed.test(part.path())).toList();
        return (those.isEmpty() ? "the largest: " : "the largest that changed: ")
                + (those.isEmpty() ? parts : those)
                        .stream()
                                .sorted(Comparator.comparingInt(Sized::size).reversed())
                                .limit(MAX_NAMED)
                                .map(Sized::toString)
                                .collect(Collectors.joining(", "));
    }

    private static int p90(List<Sized> parts) {
        int[] sorted = parts.stream().mapToInt(Sized::size).sorted().toArray();
        return sorted[(sorted.length * PERCENT + 99) / 100 - 1];
    }
}
