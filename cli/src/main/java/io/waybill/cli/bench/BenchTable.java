package io.waybill.cli.bench;

import io.waybill.cli.node.Quantities;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.TypeConversionException;

/**
 * Every measurement with its options: the resource {@code benches.table}, which is part of the reference of commands. Command line and help
 * are made from it. Stateless.
 */
public final class BenchTable {

    private static final Pattern OPTION = Pattern.compile("\\| `(--[a-z-]+)` \\| (.+) \\|");
    private static final Pattern MEASUREMENT = Pattern.compile("\\| `([a-z]+)` \\| (.+) \\| `(.+)` \\|");

    /**
     * A measurement.
     *
     * @param defaults all its options, with their defaults
     */
    record Bench(String name, String description, String defaults) {

        /** Its options for the command line. */
        List<OptionSpec> options() {
            Map<String, String> meanings = new LinkedHashMap<>();
            rows(OPTION).forEach(row -> meanings.put(row.group(1), row.group(2)));
            List<OptionSpec> options = new ArrayList<>();
            String[] words = defaults.split(" ");
            for (int i = 0; i < words.length; i += 2) {
                options.add(option(words[i], words[i + 1], meanings.get(words[i])));
            }
            return options;
        }
    }

    private BenchTable() {}

    /** The tables in Markdown. */
    public static String text() {
        try (InputStream in = BenchTable.class.getResourceAsStream("benches.table")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<MatchResult> rows(Pattern form) {
        return form.matcher(text()).results().toList();
    }

    static List<Bench> all() {
        return rows(MEASUREMENT).stream()
                .map(row -> new Bench(row.group(1), row.group(2), row.group(3)))
                .toList();
    }

    private static OptionSpec option(String name, String fallback, String meaning) {
        String sentence = Character.toUpperCase(meaning.charAt(0)) + meaning.substring(1);
        OptionSpec.Builder option = OptionSpec.builder(name)
                .paramLabel("<" + name.substring(2) + ">")
                .defaultValue(fallback);
        option.description(sentence + "; ${DEFAULT-VALUE}.");
        switch (name) {
            case "--sizes" -> option.type(List.class).auxiliaryTypes(Long.class).splitRegex(",");
            case "--waiting" -> option.type(Waiting.class).converters(BenchTable::waiting);
            default -> option.type(long.class);
        }
        return option.build();
    }

    private static Waiting waiting(String text) {
        try {
            return Quantities.choice(Waiting.class, text);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
